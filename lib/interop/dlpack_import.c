/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack_import.c - structs of DLPack as tensors.
 *
 * The structs come from other libraries and may have any content. All is
 * checked before the memory is touched, and before the struct is taken over. */
#include "lib/interop/dlpack.h"

#include <sesqui/ops/data.h>
#include <sesqui/vulkan.h>

#include "lib/core/device/native.h"
#include "lib/core/queue/queue.h"
#include "lib/core/base/size.h"

/* A struct of either form, in the pieces that an import reads. */
struct dlpack_import_foreign {
    const DLTensor *t;
    uint64_t flags;
    void *self;
    void (*deleter)(void *self); /* calls the struct's deleter */
    const char *what;            /* begins error texts */
};

/* A checked tensor. */
struct incoming {
    ssq_dtype dtype;
    int64_t shape[SSQ_MAX_RANK], strides[SSQ_MAX_RANK];
    int rank;
    uint64_t span;   /* bytes from the first to the end of the last element; 0
                        if the tensor is empty */
    uint64_t offset; /* of the first element in the memory to be imported */
    union {
        struct native_span span; /* if memory is an address */
        uint64_t words[2];       /* a VkBuffer and its size */
        void *object;            /* a cl_mem */
    } memory;
    const void *handle; /* of the memory, as the backend takes it */
    const ssq_dlpack_vulkan *vulkan; /* NULL: not Vulkan */
};

static void delete_old(void *self)
{
    DLManagedTensor *dl = self;
    dl->deleter(dl);
}

static void delete_versioned(void *self)
{
    DLManagedTensorVersioned *dl = self;
    dl->deleter(dl);
}

/* Without a deleter nothing keeps the struct: it is not read again. */
static void delete_nothing(void *self)
{
    (void)self;
}

/* ---- checks ---- */

static ssq_status dlpack_import_check(const ssq_queue *queue, const void *dl,
                                      const ssq_from_dlpack_args *a,
                                      ssq_tensor *const *tensor,
                                      const char *what)
{
    if (queue == NULL || dl == NULL || tensor == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         queue == NULL ? "queue"
                         : dl == NULL  ? "dl"
                                       : "tensor");
    if (a->struct_size != sizeof(*a))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         a->struct_size, sizeof(*a));
    if ((unsigned)a->copy > SSQ_DLPACK_COPY_ALWAYS)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not an ssq_dlpack_copy",
                         what, (int)a->copy);
    return queue_check(queue, what);
}

/* Read the shape and the strides, and compute the span. */
static ssq_status read_shape(const struct dlpack_import_foreign *f,
                             struct incoming *in)
{
    const DLTensor *t = f->t;
    struct view dense;
    uint64_t bytes, last = 0;
    if (t->ndim < 0 || t->ndim > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_INVALID, "%s: ndim is %d, expected 0 to %d",
                         f->what, (int)t->ndim, SSQ_MAX_RANK);
    ssq_status st =
        tensor_layout(f->what, in->dtype, t->ndim, t->shape, &dense, &bytes);
    if (st != SSQ_OK)
        return st;
    in->rank = t->ndim;
    for (int i = 0; i < in->rank; i++) {
        uint64_t reach;
        in->shape[i] = t->shape[i];
        in->strides[i] = t->strides == NULL || t->shape[i] <= 1
                             ? dense.stride[i]
                             : t->strides[i];
        if (bytes == 0)
            continue;
        if (in->strides[i] < 0)
            return error_set(SSQ_ERR_UNSUPPORTED,
                             "%s: dimension %d has stride %lld, negative",
                             f->what, i, (long long)in->strides[i]);
        if (!size_mul((uint64_t)in->shape[i] - 1, (uint64_t)in->strides[i],
                      &reach) ||
            reach > INT64_MAX / 16 || (last += reach) > INT64_MAX / 16)
            return error_set(SSQ_ERR_INVALID,
                             "%s: dimension %d with stride %lld makes the "
                             "tensor larger than 64 bits can count",
                             f->what, i, (long long)in->strides[i]);
    }
    in->span = bytes == 0 ? 0 : (last + 1) * dtype_bytes(in->dtype);
    return SSQ_OK;
}

/* Host memory that is pinned for CUDA is host memory, and managed memory is a
 * GPU's. */
static bool same_kind(DLDeviceType is, DLDeviceType wanted)
{
    return is == wanted || (is == kDLCUDAHost && wanted == kDLCPU) ||
           (is == kDLCUDAManaged && wanted == kDLCUDA);
}

static ssq_status
dlpack_import_check_device(const struct dlpack_import_foreign *f,
                           const ssq_queue *queue)
{
    const DLDevice *is = &f->t->device;
    DLDevice wanted;
    ssq_status st = dlpack_device(queue->device, f->what, &wanted);
    if (st != SSQ_OK)
        return st;
    /* Only CUDA numbers devices as DLPack does. OpenCL and Vulkan tell devices
     * apart by their handles. */
    if (same_kind(is->device_type, wanted.device_type) &&
        (wanted.device_type != kDLCUDA || is->device_id == wanted.device_id))
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID, "%s: the tensor is on %s %d, the queue on %s (%s %d)",
        f->what, dlpack_device_name(is->device_type), (int)is->device_id,
        queue->device->props.name, dlpack_device_name(wanted.device_type),
        (int)wanted.device_id);
}

/* ---- memory ---- */

/* Memory that is an address: begin at a multiple of the device's alignment, so
 * that an element's offset says how it is aligned. The bytes before the first
 * element are never used. */
static ssq_status take_address(const struct dlpack_import_foreign *f,
                               struct incoming *in, uint64_t alignment)
{
    uint64_t address = (uint64_t)(uintptr_t)f->t->data;
    uint64_t first = address + f->t->byte_offset;
    if (first < address || first > UINTPTR_MAX ||
        in->span > UINTPTR_MAX - first)
        return error_set(SSQ_ERR_INVALID,
                         "%s: data plus byte_offset %llu is not an address",
                         f->what, (unsigned long long)f->t->byte_offset);
    in->offset = first % alignment;
    in->memory.span.address = first - in->offset;
    in->memory.span.bytes = in->offset + in->span;
    in->handle = &in->memory.span;
    return SSQ_OK;
}

static ssq_status take_vulkan(const struct dlpack_import_foreign *f,
                              const ssq_queue *queue, struct incoming *in)
{
    const ssq_dlpack_vulkan *v = f->t->data;
    ssq_vulkan_info info = SSQ_VULKAN_INFO_INIT;
    if (v->magic != SSQ_DLPACK_VULKAN_MAGIC)
        return error_set(SSQ_ERR_INVALID,
                         "%s: data is not an ssq_dlpack_vulkan: its magic is "
                         "%#llx",
                         f->what, (unsigned long long)v->magic);
    if (v->version < SSQ_DLPACK_VULKAN_VERSION)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: the ssq_dlpack_vulkan has version %u, expected %u "
            "or later",
            f->what, (unsigned)v->version, SSQ_DLPACK_VULKAN_VERSION);
    queue->device->backend->info(queue->device->impl, &info);
    if (v->device != info.device || v->physical != info.physical ||
        v->instance != info.instance)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the buffer is of another VkDevice than %s",
                         f->what, queue->device->props.name);
    if (v->family != info.family && v->family != UINT32_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: queue family %u owns the buffer, the queue is of "
                         "family %u",
                         f->what, (unsigned)v->family, (unsigned)info.family);
    if (v->buffer == 0 || v->bytes == 0)
        return error_set(SSQ_ERR_INVALID, "%s: %s is 0", f->what,
                         v->buffer == 0 ? "buffer" : "bytes");
    in->vulkan = v;
    in->memory.words[0] = v->buffer;
    in->memory.words[1] = v->bytes;
    in->handle = in->memory.words;
    in->offset = v->offset + f->t->byte_offset;
    if (in->offset < v->offset)
        return error_set(SSQ_ERR_INVALID,
                         "%s: offset %llu plus byte_offset %llu has more than "
                         "64 bits",
                         f->what, (unsigned long long)v->offset,
                         (unsigned long long)f->t->byte_offset);
    return SSQ_OK;
}

static ssq_status
dlpack_import_take_memory(const struct dlpack_import_foreign *f,
                          const ssq_queue *queue, struct incoming *in)
{
    const struct backend *b = queue->device->backend;
    if (f->t->data == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: data is NULL", f->what);
    if (b->mem_addressed)
        return take_address(f, in, queue->device->props.alignment);
    if (f->t->device.device_type == kDLVulkan)
        return take_vulkan(f, queue, in);
    in->memory.object = f->t->data;
    in->handle = f->t->data;
    in->offset = f->t->byte_offset;
    return SSQ_OK;
}

/* Decide whether to copy. The reason is the text of an error. */
static ssq_status dlpack_import_decide(const struct dlpack_import_foreign *f,
                                       const struct incoming *in,
                                       const ssq_from_dlpack_args *a,
                                       bool *copy)
{
    unsigned size = dtype_bytes(in->dtype);
    bool unaligned = in->offset % size != 0;
    bool locked =
        (f->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && !a->read_only;
    *copy = a->copy == SSQ_DLPACK_COPY_ALWAYS || unaligned || locked;
    if (!(unaligned || locked) || a->copy != SSQ_DLPACK_COPY_NEVER)
        return SSQ_OK;
    if (unaligned)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the first element is %u bytes after a multiple "
                         "of its size, %u: allow a copy",
                         f->what, (unsigned)(in->offset % size), size);
    return error_set(SSQ_ERR_INVALID,
                     "%s: the memory is read-only: allow a copy, or set "
                     "read_only",
                     f->what);
}

/* ---- tensors ---- */

/* Make the tensor over the producer's memory; unaligned memory as bytes. The
 * buffer is returned too, without a reference. */
static ssq_status alias(const struct dlpack_import_foreign *f,
                        const struct incoming *in, ssq_queue *queue, bool bytes,
                        ssq_buffer **buffer, ssq_tensor **tensor)
{
    const int64_t n = (int64_t)in->span;
    ssq_device *d = queue->device;
    ssq_status st =
        native_buffer_import(d->backend->name, d, in->handle, f->what, buffer);
    if (st != SSQ_OK)
        return st;
    if (bytes)
        st = tensor_over(f->what, *buffer, SSQ_U8, 1, &n, NULL, in->offset,
                         tensor);
    else
        st = tensor_over(f->what, *buffer, in->dtype, in->rank, in->shape,
                         in->strides, in->offset, tensor);
    ssq_buffer *b = *buffer;
    ssq_buffer_destroy(&b); /* the tensor holds it */
    return st;
}

/* A copy in progress. These tensors are created before the first command is
 * enqueued, so that nothing fails after it for lack of memory. */
struct copying {
    ssq_tensor *made;  /* the result; NULL: no copy */
    ssq_tensor *bytes; /* unaligned memory as bytes, and as elements */
    ssq_tensor *elements;
};

static void copying_free(struct copying *c)
{
    ssq_tensor_destroy(&c->elements);
    ssq_tensor_destroy(&c->bytes);
    ssq_tensor_destroy(&c->made);
}

static ssq_status copying_create(const struct incoming *in, ssq_queue *queue,
                                 bool unaligned, struct copying *c)
{
    const int64_t n = (int64_t)in->span;
    ssq_status st = ssq_tensor_create(queue->device, in->dtype, in->rank,
                                      in->shape, &c->made);
    if (st == SSQ_OK && unaligned)
        st = ssq_tensor_create(queue->device, SSQ_U8, 1, &n, &c->bytes);
    if (st == SSQ_OK && unaligned)
        st = ssq_tensor_from_buffer(c->bytes->view.buffer, in->dtype, in->rank,
                                    in->shape, in->strides, 0, &c->elements);
    return st;
}

/* Copy x, which is bytes if the memory is unaligned, to a contiguous tensor. */
static ssq_status copying_run(const struct copying *c, ssq_queue *queue,
                              const ssq_tensor *x)
{
    if (c->bytes == NULL)
        return ssq_copy(queue, SSQ_COPY(.x = x, .y = c->made));
    ssq_status st = ssq_copy(queue, SSQ_COPY(.x = x, .y = c->bytes));
    return st == SSQ_OK
               ? ssq_copy(queue, SSQ_COPY(.x = c->elements, .y = c->made))
               : st;
}

/* Refuse a copy on a queue that is being captured: it would not run now. */
static ssq_status dlpack_import_check_copy(ssq_queue *queue, bool copy,
                                           const char *what)
{
    return copy ? queue_check_runs(queue, what) : SSQ_OK;
}

/* Later work of the queue waits for the producer. The semaphore must exist
 * until the wait is over. So a byte is copied after it, and this command holds
 * the buffer. */
static ssq_status dlpack_import_wait_for(const struct dlpack_import_foreign *f,
                                         const struct incoming *in,
                                         ssq_queue *queue, ssq_buffer *buffer)
{
    const ssq_dlpack_vulkan *v = in->vulkan;
    const int64_t one = 1;
    ssq_tensor *byte = NULL, *held = NULL;
    if (v == NULL)
        return SSQ_OK;
    ssq_status st = ssq_tensor_create(queue->device, SSQ_U8, 1, &one, &byte);
    if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(buffer, SSQ_U8, 1, &one, NULL, in->offset,
                                    &held);
    pthread_mutex_lock(&queue->lock);
    if (st == SSQ_OK && queue->capture.graph != NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                       f->what);
    if (st == SSQ_OK)
        st = queue->device->backend->semaphore_wait(queue->impl, v->semaphore,
                                                    v->value);
    pthread_mutex_unlock(&queue->lock);
    if (st == SSQ_OK && v->semaphore != 0) {
        st = ssq_copy(queue, SSQ_COPY(.x = held, .y = byte));
        if (st != SSQ_OK)
            (void)queue_wait(queue);
    }
    ssq_tensor_destroy(&held);
    ssq_tensor_destroy(&byte);
    return st;
}

/* The deleter is called when the buffer over the producer's memory is freed. It
 * is set last, because after an error the caller still owns the struct; the
 * queue then has no command that uses the memory. */
static ssq_status dlpack_import_make(const struct dlpack_import_foreign *f,
                                     const struct incoming *in,
                                     ssq_queue *queue, bool copy,
                                     ssq_tensor **tensor)
{
    bool unaligned = in->offset % dtype_bytes(in->dtype) != 0;
    struct copying c = {NULL, NULL, NULL};
    ssq_buffer *buffer = NULL;
    ssq_tensor *x = NULL;
    ssq_status st = alias(f, in, queue, unaligned, &buffer, &x);
    if (st == SSQ_OK && copy)
        st = copying_create(in, queue, unaligned, &c);
    if (st == SSQ_OK)
        st = dlpack_import_wait_for(f, in, queue, buffer);
    if (st == SSQ_OK && copy) {
        st = copying_run(&c, queue, x);
        if (st != SSQ_OK)
            (void)queue_wait(queue);
    }
    if (st == SSQ_OK) {
        buffer->released = f->deleter;
        buffer->user = f->self;
        buffer->read_only = (f->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        *tensor = copy ? c.made : x;
        *(copy ? &c.made : &x) = NULL;
    }
    ssq_tensor_destroy(&x);
    copying_free(&c);
    return st;
}

static ssq_status import(const struct dlpack_import_foreign *f,
                         ssq_queue *queue, const ssq_from_dlpack_args *a,
                         ssq_tensor **tensor)
{
    struct incoming in = {0};
    bool copy = false;
    ssq_status st = dlpack_dtype_read(f->t->dtype, f->what, &in.dtype);
    if (st == SSQ_OK)
        st = read_shape(f, &in);
    if (st == SSQ_OK)
        st = dlpack_import_check_device(f, queue);
    if (st == SSQ_OK && in.span == 0) {
        st = ssq_tensor_create(queue->device, in.dtype, in.rank, in.shape,
                               tensor);
        if (st == SSQ_OK)
            f->deleter(f->self);
    } else if (st == SSQ_OK) {
        st = dlpack_import_take_memory(f, queue, &in);
        if (st == SSQ_OK)
            st = dlpack_import_decide(f, &in, a, &copy);
        if (st == SSQ_OK)
            st = dlpack_import_check_copy(queue, copy, f->what);
        if (st == SSQ_OK)
            st = dlpack_import_make(f, &in, queue, copy, tensor);
    }
    if (st == SSQ_OK && a->copied != NULL)
        *a->copied = copy;
    return st;
}

ssq_status ssq_tensor_from_dlpack(ssq_queue *queue,
                                  struct DLManagedTensorVersioned *dl,
                                  const ssq_from_dlpack_args *args,
                                  ssq_tensor **tensor)
{
    static const char what[] = "tensor_from_dlpack";
    const ssq_from_dlpack_args defaults = SSQ_FROM_DLPACK_INIT;
    const ssq_from_dlpack_args *a = args == NULL ? &defaults : args;
    ssq_status st = dlpack_import_check(queue, dl, a, tensor, what);
    if (st != SSQ_OK)
        return st;
    if (dl->version.major != DLPACK_MAJOR_VERSION)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: the struct is of DLPack %u.%u, expected 1: call "
                         "its deleter",
                         what, (unsigned)dl->version.major,
                         (unsigned)dl->version.minor);
    const struct dlpack_import_foreign f = {
        &dl->dl_tensor, dl->flags, dl,
        dl->deleter == NULL ? delete_nothing : delete_versioned, what};
    return import(&f, queue, a, tensor);
}

ssq_status ssq_tensor_from_dlpack_unversioned(ssq_queue *queue,
                                              struct DLManagedTensor *dl,
                                              const ssq_from_dlpack_args *args,
                                              ssq_tensor **tensor)
{
    static const char what[] = "tensor_from_dlpack_unversioned";
    const ssq_from_dlpack_args defaults = SSQ_FROM_DLPACK_INIT;
    const ssq_from_dlpack_args *a = args == NULL ? &defaults : args;
    ssq_status st = dlpack_import_check(queue, dl, a, tensor, what);
    if (st != SSQ_OK)
        return st;
    const struct dlpack_import_foreign f = {
        &dl->dl_tensor, 0, dl,
        dl->deleter == NULL ? delete_nothing : delete_old, what};
    return import(&f, queue, a, tensor);
}
