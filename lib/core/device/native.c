/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - devices, queues and buffers over native objects of the caller. */
#include "lib/core/device/native.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/queue.h"
#include "lib/core/module/registry.h"

#include <string.h>

/* Find a backend by name, load it, and check that it accepts native objects. */
static ssq_status native_find(const char *name, const char *what,
                              const struct registry_entry **entry)
{
    const struct registry_entry *e = registry_find(name, strlen(name));
    if (e != NULL && e->lost > 0)
        return error_set(SSQ_ERR_DEVICE, "%s: %s: %s", what, name,
                         e->reason.text);
    if (e == NULL || e->backend == NULL || e->devices == 0)
        return error_set(SSQ_ERR_NOT_FOUND, "%s: no %s backend: %s", what, name,
                         e == NULL ? "unknown" : e->reason.text);
    if (e->backend->open_native == NULL)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: this %s backend takes no native objects", what,
                         name);
    *entry = e;
    return SSQ_OK;
}

/* The opening is not automatic, because the caller has chosen the device. */
ssq_status native_device_open(const char *name, const void *const *handles,
                              const ssq_device_options *options,
                              const char *what, ssq_device **device)
{
    const struct registry_entry *e = NULL;
    struct backend_device *impl = NULL;
    unsigned index = 0;
    if (options != NULL && options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         options->struct_size, sizeof(*options));
    ssq_status st = native_find(name, what, &e);
    if (st == SSQ_OK)
        st = e->backend->open_native(e->instance, handles, &index, &impl);
    struct opening opening = {.why = "the caller's own"};
    return st == SSQ_OK
               ? device_create(e, index, impl, options, &opening, device)
               : st;
}

/* Refuse a device of another backend: a handle is valid within one API only. */
static ssq_status native_check_device(const ssq_device *device,
                                      const char *backend, const char *what)
{
    if (device == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: device is NULL", what);
    if (strcmp(device->backend->name, backend) != 0)
        return error_set(SSQ_ERR_INVALID, "%s: %s is not a device of %s", what,
                         device->props.name, backend);
    return device_check(device, what);
}

/* A device of this backend may also have been opened by name. The handle must
 * then belong to the context that the backend created; queue_native checks
 * that. */
ssq_status native_queue_create(const char *backend, ssq_device *device,
                               const void *handle, const char *what,
                               ssq_queue **queue)
{
    struct backend_queue *impl = NULL;
    ssq_status st = native_check_device(device, backend, what);
    if (st == SSQ_OK && (handle == NULL || queue == NULL))
        st = error_set(SSQ_ERR_INVALID, "%s: a NULL", what);
    if (st == SSQ_OK)
        st = device->backend->queue_native(device->impl, handle, &impl);
    return st == SSQ_OK ? queue_create(device, impl, queue) : st;
}

/* Free an imported buffer. Unlike in buffer_free(), the memory is not from the
 * pool: the backend's free only releases its view of the caller's memory. */
static void imported_free(struct object *o)
{
    ssq_buffer *b = (ssq_buffer *)o;
    if (!device_lost(b->device)) {
        b->device->backend->free(b->device->impl, b->mem);
        if (b->released != NULL)
            b->released(b->user);
    }
    object_put(&b->device->object);
    mem_free(b);
}

ssq_status native_buffer_over(ssq_device *device, struct backend_mem *mem,
                              uint64_t bytes, const char *what,
                              ssq_buffer **buffer)
{
    ssq_buffer *b = mem_alloc(sizeof(*b));
    if (b == NULL) {
        device->backend->free(device->impl, mem);
        return error_nomem(what, sizeof(*b));
    }
    object_init(&b->object, imported_free);
    object_get(&device->object);
    b->device = device;
    b->mem = mem;
    b->bytes = bytes;
    b->lent = true;
    *buffer = b;
    return SSQ_OK;
}

ssq_status native_buffer_import(const char *backend, ssq_device *device,
                                const void *handle, const char *what,
                                ssq_buffer **buffer)
{
    struct backend_mem *mem = NULL;
    ssq_status st = native_check_device(device, backend, what);
    if (st == SSQ_OK && (handle == NULL || buffer == NULL))
        st = error_set(SSQ_ERR_INVALID, "%s: a NULL", what);
    if (st == SSQ_OK)
        st = device->backend->import(device->impl, handle, &mem);
    return st == SSQ_OK
               ? native_buffer_over(device, mem, mem->bytes, what, buffer)
               : st;
}

ssq_status native_buffer_handle(const char *backend, const ssq_buffer *buffer,
                                const char *what, void **handle,
                                uint64_t *offset)
{
    if (buffer == NULL || handle == NULL || offset == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: a NULL", what);
    ssq_status st = native_check_device(buffer->device, backend, what);
    if (st != SSQ_OK)
        return st;
    if (buffer->mem == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: the buffer has 0 bytes", what);
    *handle = buffer->device->backend->mem_handle(buffer->mem);
    *offset = buffer->offset;
    return SSQ_OK;
}

static ssq_status keep_handle(void *user, void *native)
{
    *(void **)user = native;
    return SSQ_OK;
}

ssq_status native_queue_handle(const char *backend, ssq_queue *queue,
                               const char *what, void **handle)
{
    ssq_status st = native_check_device(queue->device, backend, what);
    if (st == SSQ_OK)
        st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&queue->lock);
    st = queue->device->backend->call(queue->impl, keep_handle, handle);
    pthread_mutex_unlock(&queue->lock);
    return st;
}

ssq_status native_device_info(const char *backend, const ssq_device *device,
                              void *info, const char *what)
{
    ssq_status st = native_check_device(device, backend, what);
    if (st == SSQ_OK)
        device->backend->info(device->impl, info);
    return st;
}

/* The pool's lock prevents allocations while the allocator changes. */
ssq_status native_allocator_set(const char *backend, ssq_device *device,
                                const void *allocator, const char *what)
{
    ssq_status st = native_check_device(device, backend, what);
    if (st != SSQ_OK)
        return st;
    ssq_device_trim(device);
    pool_hold(device->pool);
    device->backend->allocator_set(device->impl, allocator);
    pool_let_go(device->pool);
    return SSQ_OK;
}
