/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - device memory in slabs, allocated in multiples of 256 bytes. */
#ifndef LIB_CORE_MEMORY_POOL_H
#define LIB_CORE_MEMORY_POOL_H

#include "lib/core/core.h"

/** Create a pool. retire must release everything that finished work holds; if
 *  wait is set, it must first wait for all work. */
ssq_status pool_create(ssq_device *device,
                       void (*retire)(ssq_device *device, bool wait),
                       struct pool **pool);
/** Destroy a pool; NULL is allowed. No buffer of the pool may be alive. */
void pool_destroy(struct pool *pool);

/** Set buffer->{mem,offset,slab}; buffer->bytes must not be 0. If the slabs
 *  have no room, retire finished work. Wait for all work if memory is short, or
 *  if work that has not run may hold most of what is in use. Then return
 *  SSQ_ERR_NOMEM. */
ssq_status pool_get(struct pool *pool, ssq_buffer *buffer);
/** Free the memory of a buffer that pool_get() has set; cannot fail. */
void pool_put(struct pool *pool, ssq_buffer *buffer);
/** Return slabs that no buffer uses to the device. */
void pool_trim(struct pool *pool);
/** Set in_use, reserved, peak and buffers, all as of one moment. */
void pool_info(struct pool *pool, ssq_memory_info *info);
/** Return the most bytes that one kernel argument covers: the device's limit,
 *  or SSQ_LIMIT_BINDING if that is lower. */
uint64_t pool_binding_bytes(const struct pool *pool);
/** Return all limits of the device, lowered by SSQ_LIMIT_BINDING and, if groups
 *  have more than one item, by SSQ_LIMIT_ITERATIONS. */
const struct backend_limits *pool_limits(const struct pool *pool);

/** Take the pool's lock before a fork, and release it after it. */
void pool_hold(struct pool *pool);
void pool_let_go(struct pool *pool);

#endif
