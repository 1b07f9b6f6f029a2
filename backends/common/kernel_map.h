/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_map.h - the kernels of a device, each made once.
 *
 * A kernel is made outside of the table's lock: a thread that wants the same
 * one waits for it, everybody else continues. */
#ifndef BACKENDS_COMMON_KERNEL_MAP_H
#define BACKENDS_COMMON_KERNEL_MAP_H

#include <pthread.h>

#include "lib/core/module/backend.h"

/** The beginning of a backend's own struct. */
struct kernel_map_entry {
    struct kernel_map_entry *next;
    const struct kernel *kernel;
    uint8_t key[LAUNCH_KEYS];
    bool building;
};

struct kernel_map {
    const struct services *core;
    pthread_mutex_t lock;
    pthread_cond_t built;
    struct kernel_map_entry *chain[64];
};

/** An empty table; SSQ_ERR_NOMEM without a text. */
ssq_status kernel_map_open(struct kernel_map *map, const struct services *core);
/** Of an empty table. */
void kernel_map_close(struct kernel_map *map);

/** The entry of a kernel in a variant, once it is made. *mine: there was none,
 *  this one has room for this many bytes (the rest is 0), and the caller makes
 * it and says kernel_map_built. NULL: no memory. */
struct kernel_map_entry *kernel_map_get(struct kernel_map *map,
                                        const struct kernel *kernel,
                                        const uint8_t key[LAUNCH_KEYS],
                                        size_t bytes, bool *mine);
/** The thread's own entry is made; or it failed, and is out of the table: a
 * thread that waits for it tries again, and the caller frees it. */
void kernel_map_built(struct kernel_map *map, struct kernel_map_entry *entry,
                      bool ok);

/** Take any entry out, for the caller to free; NULL: the table is empty. */
struct kernel_map_entry *kernel_map_take(struct kernel_map *map);

/** "unary KIND=3 X=1", cut to bytes. */
void kernel_map_name(const struct kernel *kernel,
                     const uint8_t key[LAUNCH_KEYS], char *text, size_t bytes);

#endif
