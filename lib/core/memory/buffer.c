/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c - reference-counted device memory. */
#include "lib/core/memory/pool.h"

/* Called by the last object_put(). Memory of a lost device is not freed: a
 * child of fork must not call its driver, and the pool's lists may be half
 * changed. The device is released last, because it owns the pool. */
static void buffer_free(struct object *o)
{
    ssq_buffer *b = (ssq_buffer *)o;
    if (b->mem != NULL && !device_lost(b->device))
        pool_put(b->device->pool, b);
    object_put(&b->device->object);
    mem_free(b);
}

/* Separate from buffer_place(): a plan creates its scratch buffers while it is
 * built, and allocates their memory when it is complete. */
ssq_status buffer_declare(ssq_device *device, uint64_t bytes, ssq_buffer **out)
{
    ssq_buffer *b = mem_alloc(sizeof(*b));
    if (b == NULL)
        return error_nomem("buffer", sizeof(*b));
    b->device = device;
    b->bytes = bytes;
    object_init(&b->object, buffer_free);
    object_get(&device->object);
    *out = b;
    return SSQ_OK;
}

/* A buffer of 0 bytes has no memory, so backends need not support allocations
 * of 0 bytes. */
ssq_status buffer_place(ssq_buffer *b)
{
    return b->bytes == 0 ? SSQ_OK : pool_get(b->device->pool, b);
}

/* After a failure, object_put() also frees a buffer without memory: its mem is
 * NULL. */
ssq_status buffer_create(ssq_device *device, uint64_t bytes, ssq_buffer **out)
{
    ssq_buffer *b = NULL;
    ssq_status st = device_check(device, "buffer");
    if (st == SSQ_OK)
        st = buffer_declare(device, bytes, &b);
    if (st == SSQ_OK)
        st = buffer_place(b);
    if (st == SSQ_OK)
        *out = b;
    else if (b != NULL)
        object_put(&b->object);
    return st;
}

void ssq_buffer_destroy(ssq_buffer **buffer)
{
    if (buffer == NULL || *buffer == NULL)
        return;
    object_put(&(*buffer)->object);
    *buffer = NULL;
}

uint64_t ssq_buffer_bytes(const ssq_buffer *buffer)
{
    return buffer == NULL ? 0 : buffer->bytes;
}
