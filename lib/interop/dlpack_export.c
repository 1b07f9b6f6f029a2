/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack_export.c - tensors as structs of DLPack. */
#include "lib/interop/dlpack.h"

#include <sesqui/ops/data.h>
#include <sesqui/vulkan.h>

#include "lib/core/queue/event.h"
#include "lib/core/queue/queue.h"

#include <dlfcn.h>
#include <string.h>

#include <string.h>

/* An exported struct, and what its deleter releases. */
struct exported {
    union {
        DLManagedTensor old;
        DLManagedTensorVersioned versioned;
    } dl;
    ssq_tensor *tensor;       /* a reference */
    ssq_event *event;         /* NULL: none; it holds the semaphore */
    ssq_dlpack_vulkan vulkan; /* data, if the device is kDLVulkan */
    int64_t shape[SSQ_MAX_RANK], strides[SSQ_MAX_RANK];
};

static void dlpack_export_release(struct exported *e)
{
    ssq_tensor_destroy(&e->tensor);
    ssq_event_destroy(&e->event);
    mem_free(e);
}

static void release_old(DLManagedTensor *self)
{
    dlpack_export_release(self->manager_ctx);
}

static void release_versioned(DLManagedTensorVersioned *self)
{
    dlpack_export_release(self->manager_ctx);
}

/* ---- checks ---- */

static ssq_status dlpack_export_check_queue(const ssq_tensor *tensor,
                                            const ssq_queue *queue,
                                            const char *name, const char *what)
{
    const ssq_device *d = tensor->view.buffer->device;
    if (queue == NULL || queue->device == d)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the tensor is on %s, the %s queue on %s", what,
                     d->props.name, name, queue->device->props.name);
}

static ssq_status dlpack_export_check(const ssq_tensor *tensor,
                                      const ssq_to_dlpack_args *a,
                                      const void *dl, const char *what)
{
    if (tensor == NULL || dl == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         tensor == NULL ? "tensor" : "dl");
    if (a->struct_size != sizeof(*a))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         a->struct_size, sizeof(*a));
    ssq_status st = device_check(tensor->view.buffer->device, what);
    if (st != SSQ_OK)
        return st;
    if (a->producer == NULL && (a->consumer != NULL || a->copy))
        return error_set(SSQ_ERR_INVALID, "%s: %s needs a producer", what,
                         a->copy ? "copy" : "consumer");
    st = dlpack_export_check_queue(tensor, a->producer, "producer", what);
    return st == SSQ_OK ? dlpack_export_check_queue(tensor, a->consumer,
                                                    "consumer", what)
                        : st;
}

/* ---- order ---- */

/* Give the consumer the producer's timeline semaphore. The event holds it.
 * Returns SSQ_ERR_NOT_FOUND if there is none. */
static ssq_status give_semaphore(struct exported *e)
{
    const struct backend *b = e->event->device->backend;
    if (b->event_semaphore == NULL ||
        !b->event_semaphore(e->event->impl, &e->vulkan.semaphore,
                            &e->vulkan.value))
        return SSQ_ERR_NOT_FOUND;
    return SSQ_OK;
}

/* Order the consumer's work after the producer's. */
static ssq_status dlpack_export_order(struct exported *e,
                                      const ssq_to_dlpack_args *a,
                                      DLDeviceType type)
{
    if (a->producer == NULL)
        return SSQ_OK;
    if (a->consumer == NULL && type != kDLVulkan)
        return queue_wait(a->producer);
    ssq_status st = ssq_event_create(a->producer->device, &e->event);
    if (st == SSQ_OK)
        st = ssq_event_record(e->event, a->producer);
    if (st != SSQ_OK)
        return st;
    if (a->consumer != NULL)
        st = ssq_queue_wait(a->consumer, e->event);
    else if (event_submitted(e->event) && give_semaphore(e) == SSQ_OK)
        return SSQ_OK; /* the event holds the semaphore, and the queue */
    else
        st = ssq_event_sync(e->event);
    ssq_event_destroy(&e->event);
    return st;
}

/* ---- the struct ---- */

/* Set data, and byte_offset, which is 0 where data is an address. */
static void dlpack_export_set_data(struct exported *e, DLTensor *t)
{
    const struct view *v = &e->tensor->view;
    const ssq_buffer *b = v->buffer;
    const struct backend *backend = b->device->backend;
    if (view_elements(v) == 0)
        return;
    void *handle = backend->mem_handle(b->mem);
    uint64_t at = b->offset + v->offset;
    t->data = handle;
    t->byte_offset = at;
    if (backend->mem_addressed) {
        t->data = (char *)handle + at;
        t->byte_offset = 0;
    }
    if (t->device.device_type != kDLVulkan)
        return;
    ssq_vulkan_info info = SSQ_VULKAN_INFO_INIT;
    backend->info(b->device->impl, &info);
    e->vulkan.magic = SSQ_DLPACK_VULKAN_MAGIC;
    e->vulkan.version = SSQ_DLPACK_VULKAN_VERSION;
    e->vulkan.family = info.family;
    e->vulkan.instance = info.instance;
    e->vulkan.physical = info.physical;
    e->vulkan.device = info.device;
    e->vulkan.buffer = backend->mem_identity(b->mem);
    e->vulkan.bytes = b->mem->bytes;
    e->vulkan.offset = b->offset;
    t->data = &e->vulkan;
    t->byte_offset = v->offset;
}

static void dlpack_export_describe(struct exported *e, DLTensor *t)
{
    const struct view *v = &e->tensor->view;
    t->ndim = v->rank;
    t->dtype = dlpack_dtype(v->dtype);
    t->shape = e->shape;
    t->strides = e->strides;
    for (int i = 0; i < v->rank; i++) {
        e->shape[i] = v->shape[i];
        e->strides[i] = v->stride[i];
    }
}

/* True if a consumer must not write the tensor. */
static bool read_only(const ssq_tensor *tensor)
{
    return tensor->view.buffer->read_only || view_self_overlap(&tensor->view);
}

/* Make a contiguous copy. */
static ssq_status dlpack_export_copy(const ssq_tensor *tensor, ssq_queue *queue,
                                     ssq_tensor **made)
{
    const struct view *v = &tensor->view;
    ssq_status st =
        ssq_tensor_create(queue->device, v->dtype, v->rank, v->shape, made);
    if (st != SSQ_OK)
        return st;
    st = ssq_copy(queue, SSQ_COPY(.x = tensor, .y = *made));
    if (st != SSQ_OK)
        ssq_tensor_destroy(made);
    return st;
}

static ssq_status dlpack_export_make(const ssq_tensor *tensor,
                                     const ssq_to_dlpack_args *a,
                                     const char *what, DLTensor *t,
                                     struct exported **out)
{
    ssq_status st =
        dlpack_device(tensor->view.buffer->device, what, &t->device);
    if (st != SSQ_OK)
        return st;
    if (a->producer != NULL)
        st = queue_check_runs(a->producer, what);
    if (st == SSQ_OK && a->consumer != NULL)
        st = queue_check_runs(a->consumer, what);
    if (st != SSQ_OK)
        return st;
    struct exported *e = mem_alloc(sizeof(*e));
    if (e == NULL)
        return error_nomem(what, sizeof(*e));
    if (a->copy)
        st = dlpack_export_copy(tensor, a->producer, &e->tensor);
    else
        st = tensor_wrap(&tensor->view, &e->tensor);
    if (st == SSQ_OK)
        st = dlpack_export_order(e, a, t->device.device_type);
    if (st != SSQ_OK) {
        dlpack_export_release(e);
        return st;
    }
    dlpack_export_set_data(e, t);
    dlpack_export_describe(e, t);
    *out = e;
    return SSQ_OK;
}

ssq_status ssq_tensor_to_dlpack(const ssq_tensor *tensor,
                                const ssq_to_dlpack_args *args,
                                struct DLManagedTensorVersioned **dl)
{
    static const char what[] = "tensor_to_dlpack";
    const ssq_to_dlpack_args defaults = SSQ_TO_DLPACK_INIT;
    const ssq_to_dlpack_args *a = args == NULL ? &defaults : args;
    struct exported *e = NULL;
    DLTensor t = {0};
    ssq_status st = dlpack_export_check(tensor, a, dl, what);
    if (st == SSQ_OK)
        st = dlpack_export_make(tensor, a, what, &t, &e);
    if (st != SSQ_OK)
        return st;
    e->dl.versioned = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
        .manager_ctx = e,
        .deleter = release_versioned,
        .flags = a->copy             ? DLPACK_FLAG_BITMASK_IS_COPIED
                 : read_only(tensor) ? DLPACK_FLAG_BITMASK_READ_ONLY
                                     : 0,
        .dl_tensor = t};
    *dl = &e->dl.versioned;
    return SSQ_OK;
}

ssq_status ssq_tensor_to_dlpack_unversioned(const ssq_tensor *tensor,
                                            const ssq_to_dlpack_args *args,
                                            struct DLManagedTensor **dl)
{
    static const char what[] = "tensor_to_dlpack_unversioned";
    const ssq_to_dlpack_args defaults = SSQ_TO_DLPACK_INIT;
    const ssq_to_dlpack_args *a = args == NULL ? &defaults : args;
    struct exported *e = NULL;
    DLTensor t = {0};
    ssq_status st = dlpack_export_check(tensor, a, dl, what);
    if (st == SSQ_OK && !a->copy && read_only(tensor))
        st = error_set(SSQ_ERR_INVALID,
                       "%s: the tensor is read-only or its elements share "
                       "memory, which this struct cannot say: set copy",
                       what);
    if (st == SSQ_OK)
        st = dlpack_export_make(tensor, a, what, &t, &e);
    if (st != SSQ_OK)
        return st;
    e->dl.old = (DLManagedTensor){
        .dl_tensor = t, .manager_ctx = e, .deleter = release_old};
    *dl = &e->dl.old;
    return SSQ_OK;
}

/* ---- capsules of Python ---- */

/* The library is not linked to Python, so it finds these two in the program. */
struct python {
    int (*is_valid)(void *capsule, const char *name);
    void *(*pointer)(void *capsule, const char *name);
};

static bool python_find(struct python *p)
{
    void *program = dlopen(NULL, RTLD_NOW);
    void *is_valid = NULL, *pointer = NULL;
    if (program != NULL) {
        is_valid = dlsym(program, "PyCapsule_IsValid");
        pointer = dlsym(program, "PyCapsule_GetPointer");
        dlclose(program);
    }
    /* C has no conversion from an object's pointer to a function's */
    memcpy(&p->is_valid, &is_valid, sizeof(is_valid));
    memcpy(&p->pointer, &pointer, sizeof(pointer));
    return is_valid != NULL && pointer != NULL;
}

void ssq_dlpack_capsule_release(void *capsule)
{
    static const char versioned[] = "dltensor_versioned", old[] = "dltensor";
    struct python python;
    if (!python_find(&python))
        return;
    if (python.is_valid(capsule, versioned)) {
        DLManagedTensorVersioned *dl = python.pointer(capsule, versioned);
        if (dl->deleter != NULL)
            dl->deleter(dl);
    } else if (python.is_valid(capsule, old)) {
        DLManagedTensor *dl = python.pointer(capsule, old);
        if (dl->deleter != NULL)
            dl->deleter(dl);
    }
}
