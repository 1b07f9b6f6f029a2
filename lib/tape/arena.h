/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - device memory of a pass: taken from slabs, one behind the other,
 * and used again within the pass by extents of exactly the same size.
 *
 * A step of training asks for the same sizes in the same order as the one
 * before, so that no better fit is looked for: the arena is empty at each
 * reset, and what was enough once is enough again. Ops run in the order of one
 * queue; memory may go on to the next op as soon as its last one is
 * enqueued. */
#ifndef LIB_TAPE_ARENA_H
#define LIB_TAPE_ARENA_H

#include "lib/core/core.h"

struct extent {
    ssq_buffer *buffer; /* the arena's; NULL: nothing */
    uint64_t offset, bytes;
};

/** Extents that were given back, of one size. */
struct spare {
    uint64_t bytes;
    uint32_t first; /* among the links; NONE: none now */
};

struct link {
    struct extent extent;
    uint32_t next;
};

struct slab {
    ssq_buffer *buffer;
    uint64_t bytes;
};

struct arena {
    struct slab *slabs;
    size_t nslabs, slab_room;
    size_t slab;          /* that is being filled */
    uint64_t at;          /* how far */
    struct spare *spares; /* a hash table by size; bytes 0: empty */
    size_t nspares, spare_room;
    struct link *links;
    size_t nlinks, link_room;
    uint32_t free_link;         /* first unused one below nlinks */
    uint64_t used, peak, taken; /* bytes: now, most in this pass, of slabs */
    uint64_t allocations, host_allocations;
};

/** Bytes of device memory, aligned to 256. */
ssq_status arena_take(struct arena *a, ssq_device *device, uint64_t bytes,
                      struct extent *e);
/** Give an extent back; it becomes nothing. */
void arena_give(struct arena *a, struct extent *e);
/** Everything is free again. */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
