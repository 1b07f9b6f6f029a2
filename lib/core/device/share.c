/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - memory and semaphores that two devices of one GPU share. */
#include <sesqui/share.h>

#include "lib/core/device/native.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct ssq_semaphore {
    struct object object;
    ssq_device *device;
    struct backend_semaphore *impl;
};

static ssq_status share_check_device(const ssq_device *device, const void *out,
                                     const char *what)
{
    if (device == NULL || out == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         device == NULL ? "device" : "a result");
    return device_check(device, what);
}

static ssq_status cannot(const ssq_device *device, const char *what)
{
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "%s: the backend %s does not: vulkan exports and imports, "
                     "cuda imports",
                     what, device->backend->name);
}

static ssq_status check_struct(const ssq_shared_memory *m, const char *what)
{
    if (m == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: memory is NULL", what);
    return m->struct_size == sizeof(*m)
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "%s: struct_size is %zu, expected %zu", what,
                           m->struct_size, sizeof(*m));
}

/* Duplicate the caller's file, because a driver owns a file that it imports. */
static ssq_status share_duplicate(int fd, const char *what, int *own)
{
    *own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *own >= 0 ? SSQ_OK
                     : error_set(SSQ_ERR_INVALID, "%s: fd is %d: %s", what, fd,
                                 strerror(errno));
}

ssq_status ssq_buffer_export(ssq_device *device, uint64_t bytes,
                             ssq_shared_memory *memory, ssq_buffer **buffer)
{
    static const char what[] = "buffer_export";
    struct backend_mem *mem = NULL;
    int fd = -1;
    uint64_t size = 0;
    ssq_status st = share_check_device(device, buffer, what);
    if (st == SSQ_OK)
        st = check_struct(memory, what);
    if (st == SSQ_OK && device->backend->mem_export == NULL)
        st = cannot(device, what);
    if (st == SSQ_OK && bytes == 0)
        st = error_set(SSQ_ERR_INVALID, "%s: bytes is 0", what);
    if (st == SSQ_OK)
        st = device->backend->mem_export(device->impl, bytes, &mem, &fd, &size);
    if (st != SSQ_OK)
        return st;
    st = native_buffer_over(device, mem, bytes, what, buffer);
    if (st != SSQ_OK) {
        close(fd);
        return st;
    }
    memory->fd = fd;
    memory->bytes = bytes;
    memory->size = size;
    return SSQ_OK;
}

ssq_status ssq_buffer_import(ssq_device *device,
                             const ssq_shared_memory *memory,
                             ssq_buffer **buffer)
{
    static const char what[] = "buffer_import";
    struct backend_mem *mem = NULL;
    int own = -1;
    ssq_status st = share_check_device(device, buffer, what);
    if (st == SSQ_OK)
        st = check_struct(memory, what);
    if (st == SSQ_OK && device->backend->mem_import == NULL)
        st = cannot(device, what);
    if (st == SSQ_OK && (memory->bytes == 0 || memory->bytes > memory->size))
        st = error_set(SSQ_ERR_INVALID,
                       "%s: bytes is %llu and size %llu, expected 1 to size",
                       what, (unsigned long long)memory->bytes,
                       (unsigned long long)memory->size);
    if (st == SSQ_OK)
        st = share_duplicate(memory->fd, what, &own);
    if (st != SSQ_OK)
        return st;
    st = device->backend->mem_import(device->impl, own, memory->bytes,
                                     memory->size, &mem);
    return st == SSQ_OK
               ? native_buffer_over(device, mem, memory->bytes, what, buffer)
               : st;
}

/* ---- semaphores ---- */

static void semaphore_free(struct object *o)
{
    ssq_semaphore *s = (ssq_semaphore *)o;
    if (!device_lost(s->device))
        s->device->backend->semaphore_close(s->device->impl, s->impl);
    object_put(&s->device->object);
    mem_free(s);
}

static ssq_status core_share_make(ssq_device *device,
                                  struct backend_semaphore *impl,
                                  const char *what, ssq_semaphore **semaphore)
{
    ssq_semaphore *s = mem_alloc(sizeof(*s));
    if (s == NULL) {
        device->backend->semaphore_close(device->impl, impl);
        return error_nomem(what, sizeof(*s));
    }
    object_init(&s->object, semaphore_free);
    object_get(&device->object);
    s->device = device;
    s->impl = impl;
    *semaphore = s;
    return SSQ_OK;
}

ssq_status ssq_semaphore_create(ssq_device *device, int *fd,
                                ssq_semaphore **semaphore)
{
    static const char what[] = "semaphore_create";
    struct backend_semaphore *impl = NULL;
    ssq_status st = share_check_device(device, semaphore, what);
    if (st == SSQ_OK && device->backend->semaphore_open == NULL)
        st = cannot(device, what);
    int exported = -1;
    if (st == SSQ_OK)
        st = device->backend->semaphore_open(
            device->impl, fd == NULL ? NULL : &exported, &impl);
    if (st == SSQ_OK)
        st = core_share_make(device, impl, what, semaphore);
    if (st == SSQ_OK && fd != NULL)
        *fd = exported;
    else if (exported >= 0)
        close(exported);
    return st;
}

ssq_status ssq_semaphore_import(ssq_device *device, int fd,
                                ssq_semaphore **semaphore)
{
    static const char what[] = "semaphore_import";
    struct backend_semaphore *impl = NULL;
    int own = -1;
    ssq_status st = share_check_device(device, semaphore, what);
    if (st == SSQ_OK && device->backend->semaphore_import == NULL)
        st = cannot(device, what);
    if (st == SSQ_OK)
        st = share_duplicate(fd, what, &own);
    if (st != SSQ_OK)
        return st;
    st = device->backend->semaphore_import(device->impl, own, &impl);
    return st == SSQ_OK ? core_share_make(device, impl, what, semaphore) : st;
}

void ssq_semaphore_destroy(ssq_semaphore **semaphore)
{
    if (semaphore == NULL || *semaphore == NULL)
        return;
    object_put(&(*semaphore)->object);
    *semaphore = NULL;
}

typedef ssq_status (*semaphore_fn)(struct backend_queue *queue,
                                   struct backend_semaphore *semaphore,
                                   uint64_t value);

static ssq_status check_use(const ssq_queue *q, const ssq_semaphore *s,
                            uint64_t value, const char *what)
{
    ssq_status st = queue_check(q, what);
    if (st != SSQ_OK)
        return st;
    if (s == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: semaphore is NULL", what);
    if (s->device != q->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the semaphore is of %s, the queue of %s", what,
                         s->device->props.name, q->device->props.name);
    if (value == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: value is 0, which every semaphore has", what);
    return q->capture.graph == NULL
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                           what);
}

/* Enqueue a call about a semaphore after all that the queue has been given. */
static ssq_status share_enqueue(ssq_queue *queue, ssq_semaphore *s,
                                uint64_t value, bool signal, const char *what)
{
    ssq_status st = check_use(queue, s, value, what);
    if (st == SSQ_OK)
        st = replay_flush(queue);
    if (st == SSQ_OK)
        st = deferred_wait(queue, DEFERRED_ALL, what);
    if (st != SSQ_OK)
        return st;
    const struct backend *b = queue->device->backend;
    if (!signal)
        atomic_store(&queue->device->awaits, true);
    pthread_mutex_lock(&queue->lock);
    st = (signal ? b->semaphore_signal : b->semaphore_await)(queue->impl,
                                                             s->impl, value);
    pthread_mutex_unlock(&queue->lock);
    return st == SSQ_ERR_DEVICE ? queue_fail(queue, st) : st;
}

ssq_status ssq_semaphore_signal(ssq_queue *queue, ssq_semaphore *semaphore,
                                uint64_t value)
{
    return share_enqueue(queue, semaphore, value, true, "semaphore_signal");
}

ssq_status ssq_semaphore_wait(ssq_queue *queue, ssq_semaphore *semaphore,
                              uint64_t value)
{
    return share_enqueue(queue, semaphore, value, false, "semaphore_wait");
}
