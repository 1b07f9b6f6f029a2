/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - contexts, streams and memory that the caller owns.
 *
 * CUDA does not count references to them. They must exist as long as the
 * objects that were created over them here: see <sesqui/cuda.h>. */
#include "backends/cuda/queue.h"

static ssq_status native_refuse_handle(const struct services *core,
                                       const char *what)
{
    return core->error_set(SSQ_ERR_INVALID, "cuda: %s", what);
}

/* Set *i to the number of a context's device. */
static ssq_status device_of(const struct backend_instance *instance,
                            CUcontext context, unsigned *i)
{
    const struct cuda_calls *c = &instance->calls;
    CUdevice id = -1;
    CUcontext popped;
    if (c->CtxPushCurrent(context) != CUDA_SUCCESS)
        return native_refuse_handle(instance->core,
                                    "the context is no CUcontext");
    CUresult e = c->CtxGetDevice(&id);
    (void)c->CtxPopCurrent(&popped);
    for (*i = 0; e == CUDA_SUCCESS && *i < instance->n; ++*i)
        if (instance->found[*i].capability != 0 && instance->found[*i].id == id)
            return SSQ_OK;
    return instance->core->error_set(
        SSQ_ERR_NOT_FOUND, "cuda: the context is not of a listed device");
}

/* Check that the driver has the calls which report a handle's owner. */
static ssq_status need_calls(const struct services *core,
                             struct cuda_calls *calls)
{
    struct why why;
    return cuda_calls_have(calls, CUDA_NATIVE, &why)
               ? SSQ_OK
               : core->error_set(SSQ_ERR_UNSUPPORTED, "cuda: %s", why.text);
}

ssq_status cuda_open_native(struct backend_instance *instance,
                            const void *const *handles, unsigned *i,
                            struct backend_device **device)
{
    /* the public function's parameter is not const */
    CUcontext context = (CUcontext)(uintptr_t)handles[0];
    ssq_status st = device_of(instance, context, i);
    return st == SSQ_OK ? cuda_open_over(instance, *i, context, device) : st;
}

ssq_status cuda_queue_native(struct backend_device *d, const void *handle,
                             struct backend_queue **queue)
{
    CUstream stream = (CUstream)(uintptr_t)handle;
    CUcontext context = NULL;
    if (stream == CU_STREAM_PER_THREAD)
        return native_refuse_handle(
            d->core, "the per-thread default stream is another in each "
                     "thread: a queue needs a stream of its own");
    ssq_status st = need_calls(d->core, d->calls);
    if (st == SSQ_OK)
        st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    CUresult e = CU(d, StreamGetCtx)(stream, &context);
    cuda_leave(d);
    if (e == CUDA_ERROR_INVALID_HANDLE || e == CUDA_ERROR_INVALID_VALUE)
        return native_refuse_handle(d->core, "the stream is no CUstream");
    if (e != CUDA_SUCCESS)
        return cuda_error(d, "cuStreamGetCtx", e);
    if (context != d->context)
        return native_refuse_handle(d->core,
                                    "the stream is of another context");
    return cuda_queue_over(d, stream, queue);
}

/* Check that [address, address + bytes) is within one allocation on the device.
 * If not, *fault is set. With the context. */
static CUresult native_look_at(const struct backend_device *d,
                               CUdeviceptr address, uint64_t bytes,
                               const char **fault)
{
    unsigned type = 0;
    int ordinal = -1;
    CUdeviceptr begin = 0;
    size_t whole = 0;
    CUresult e = CU(d, PointerGetAttribute)(
        &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (e == CUDA_SUCCESS)
        e = CU(d, PointerGetAttribute)(
            &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    if (e == CUDA_SUCCESS)
        e = CU(d, PointerGetAttribute)(
            &begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address);
    if (e == CUDA_SUCCESS)
        e = CU(d, PointerGetAttribute)(&whole, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                       address);
    if (e != CUDA_SUCCESS)
        return e;
    if (type != CU_MEMORYTYPE_DEVICE)
        *fault = "the memory is not a device's";
    else if (ordinal != (int)d->found->id)
        *fault = "the memory is of another device";
    else if (address - begin > whole || bytes > whole - (address - begin))
        *fault = "the memory ends before so many bytes";
    return e;
}

ssq_status cuda_import(struct backend_device *d, const void *handle,
                       struct backend_mem **mem)
{
    const struct native_span *span = handle;
    const char *fault = NULL;
    ssq_status st = need_calls(d->core, d->calls);
    if (st == SSQ_OK)
        st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    CUresult e = native_look_at(d, span->address, span->bytes, &fault);
    cuda_leave(d);
    if (e != CUDA_SUCCESS)
        fault = "the address is not of memory that CUDA knows";
    else if (fault == NULL && span->address % 16u != 0)
        fault = "the address is no multiple of 16";
    if (fault != NULL)
        return d->core->error_set(
            SSQ_ERR_INVALID, "cuda: %s: %llu bytes at %#llx", fault,
            (unsigned long long)span->bytes, (unsigned long long)span->address);
    return cuda_mem_over(d, span->address, span->bytes, mem);
}

int32_t cuda_ordinal(const struct backend_device *d)
{
    return (int32_t)d->found->id;
}

void *cuda_mem_handle(const struct backend_mem *mem)
{
    return (void *)(uintptr_t)((const struct cuda_mem *)mem)->address;
}
