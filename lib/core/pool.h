/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - device memory in slabs, handed out in multiples of 256 bytes. */
#ifndef LIB_CORE_POOL_H
#define LIB_CORE_POOL_H

#include "lib/core/core.h"

/** retire: has the device let go of what finished work holds; waits for all of
 *  it first when asked. */
ssq_status pool_create(ssq_device *device,
                       void (*retire)(ssq_device *device, bool wait),
                       struct pool **pool);
/** NULL is allowed. No buffer of the pool may be alive. */
void pool_destroy(struct pool *pool);

/** Fill buffer->{mem,offset,slab} for buffer->bytes > 0. Retires finished
 *  work when memory is short, then waits, then SSQ_ERR_NOMEM. */
ssq_status pool_get(struct pool *pool, ssq_buffer *buffer);
/** The memory of a buffer that pool_get filled; it cannot fail. */
void pool_put(struct pool *pool, ssq_buffer *buffer);
/** Give slabs that no buffer uses back to the device. */
void pool_trim(struct pool *pool);
/** Fill in_use, reserved, peak and buffers, all of one moment. */
void pool_info(struct pool *pool, ssq_memory_info *info);
/** Most bytes that one kernel argument sees: the device's, or
 *  SSQ_LIMIT_BINDING when that is less. */
uint64_t pool_binding_bytes(const struct pool *pool);
/** All limits of the device, with that one, and with SSQ_LIMIT_ITERATIONS where
 *  groups have more than one item. */
const struct backend_limits *pool_limits(const struct pool *pool);

#endif
