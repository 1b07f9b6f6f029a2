/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - device memory of a pass, allocated from slabs one extent after the
 * other.
 *
 * An extent that was released within a pass is reused for a request of exactly
 * the same size. The arena does not search for a better fit: a training step
 * requests the same sizes in the same order as the step before it. The arena is
 * empty after each reset, and slabs that were once sufficient remain
 * sufficient.
 *
 * All ops run in the order of one queue. Memory may therefore be reused as soon
 * as its last op has been enqueued. */
#ifndef LIB_TAPE_ARENA_H
#define LIB_TAPE_ARENA_H

#include "lib/core/core.h"

struct extent {
    ssq_buffer *buffer; /* owned by the arena; NULL: no extent */
    uint64_t offset, bytes;
};

/** Released extents of one size. */
struct spare {
    uint64_t bytes;
    uint32_t first; /* index of a link; UINT32_MAX: none */
};

struct link {
    struct extent extent;
    uint32_t next;
};

struct tape_slab {
    ssq_buffer *buffer;
    uint64_t bytes;
};

struct arena {
    struct tape_slab *slabs;
    size_t nslabs, slab_room;
    size_t slab;          /* the slab that is being filled */
    uint64_t at;          /* bytes used in that slab */
    struct spare *spares; /* hash table by size; bytes 0: empty */
    size_t nspares, spare_room;
    struct link *links;
    size_t nlinks, link_room;
    uint32_t free_link;         /* first unused link below nlinks */
    uint64_t used, peak, taken; /* bytes: now, maximum in this pass, of slabs */
    uint64_t allocations, host_allocations;
};

/** Allocate device memory. `bytes` is rounded up to a multiple of 256. */
ssq_status arena_take(struct arena *a, ssq_device *device, uint64_t bytes,
                      struct extent *e);
/** Release an extent and clear *e. */
void arena_give(struct arena *a, struct extent *e);
/** Release all extents. The slabs stay allocated. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
