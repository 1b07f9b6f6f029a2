/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory, from which the core's pool gets its slabs.
 *
 * If the device has pools, memory comes from a pool of this backend, in the
 * order of a separate stream. The driver keeps freed memory for the next slab.
 * Neither allocating nor freeing waits for other work of the device. An
 * allocation waits for its own stream, which contains no other work, so that
 * all queues can use the memory. Captures on other streams are not affected. */
#include "backends/cuda/cuda.h"

static ssq_status cuda_memory_wrap(const struct services *core,
                                   CUdeviceptr address, uint64_t bytes,
                                   enum cuda_origin origin,
                                   struct backend_mem **mem)
{
    struct cuda_mem *m = core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return cuda_no_memory(core, sizeof(*m));
    m->address = address;
    m->origin = origin;
    m->mem.bytes = bytes;
    *mem = &m->mem;
    return SSQ_OK;
}

/* Allocate from the pool or, without one, by cuMemAlloc. *call is set to the
 * name of the call that failed. With the context. */
static CUresult cuda_memory_allocate(const struct backend_device *d,
                                     uint64_t bytes, CUdeviceptr *address,
                                     const char **call)
{
    if (d->pool == NULL) {
        *call = "cuMemAlloc";
        return CU(d, MemAlloc)(address, (size_t)bytes);
    }
    *call = "cuMemAllocFromPoolAsync";
    CUresult e = CU(d, MemAllocFromPoolAsync)(address, (size_t)bytes, d->pool,
                                              d->memory_order);
    if (e == CUDA_SUCCESS) {
        *call = "cuStreamSynchronize";
        e = CU(d, StreamSynchronize)(d->memory_order);
        if (e != CUDA_SUCCESS)
            (void)CU(d, MemFreeAsync)(*address, d->memory_order);
    }
    return e;
}

/* Free memory by its origin. With the context. */
static void cuda_memory_release(const struct backend_device *d,
                                CUdeviceptr address, enum cuda_origin origin)
{
    CUstreamCaptureMode mode = cuda_relax(d);
    if (origin == CUDA_POOLED)
        (void)CU(d, MemFreeAsync)(address, d->memory_order);
    else if (origin == CUDA_PLAIN || origin == CUDA_SHARED)
        (void)CU(d, MemFree)(address);
    cuda_relaxed(d, mode);
}

/* Allocate from the caller's allocator, with the context. */
static ssq_status ask_caller(const struct backend_device *d, uint64_t bytes,
                             struct backend_mem **mem)
{
    const ssq_cuda_allocator *c = &d->callers;
    CUdeviceptr address = c->alloc(c->user, bytes);
    if (address == 0)
        return d->core->error_set(
            SSQ_ERR_NOMEM, "cuda: the caller's allocator has no %llu bytes",
            (unsigned long long)bytes);
    ssq_status st =
        address % CUDA_ALIGN == 0
            ? cuda_memory_wrap(d->core, address, bytes, CUDA_CALLERS, mem)
            : d->core->error_set(SSQ_ERR_INVALID,
                                 "cuda: the caller's allocator gave %#llx, "
                                 "which is not a multiple of %u",
                                 (unsigned long long)address, CUDA_ALIGN);
    if (st != SSQ_OK)
        c->free(c->user, address, bytes);
    else
        ((struct cuda_mem *)*mem)->from = *c;
    return st;
}

ssq_status cuda_alloc(struct backend_device *d, uint64_t bytes,
                      struct backend_mem **mem)
{
    enum cuda_origin origin = d->pool != NULL ? CUDA_POOLED : CUDA_PLAIN;
    const char *call;
    CUdeviceptr address = 0;
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    if (d->callers.alloc != NULL) {
        st = ask_caller(d, bytes, mem);
        cuda_leave(d);
        return st;
    }
    CUstreamCaptureMode mode = cuda_relax(d);
    CUresult e = cuda_memory_allocate(d, bytes, &address, &call);
    cuda_relaxed(d, mode);
    if (e == CUDA_SUCCESS) {
        st = cuda_memory_wrap(d->core, address, bytes, origin, mem);
        if (st != SSQ_OK)
            cuda_memory_release(d, address, origin);
    } else {
        (void)cuda_error(d, call, e);
        st = d->core->error_set(e == CUDA_ERROR_OUT_OF_MEMORY ? SSQ_ERR_NOMEM
                                                              : SSQ_ERR_DEVICE,
                                "%s, for %llu bytes", d->core->error_text(),
                                (unsigned long long)bytes);
    }
    cuda_leave(d);
    return st;
}

void cuda_free(struct backend_device *d, struct backend_mem *mem)
{
    struct cuda_mem *m = (struct cuda_mem *)mem;
    if (m->origin != CUDA_IMPORTED && cuda_enter(d) == SSQ_OK) {
        if (m->origin == CUDA_CALLERS)
            m->from.free(m->from.user, m->address, m->mem.bytes);
        else
            cuda_memory_release(d, m->address, m->origin);
        if (m->origin == CUDA_SHARED)
            (void)CU(d, DestroyExternalMemory)(m->shared);
        cuda_leave(d);
    }
    d->core->mem_free(m);
}

void cuda_allocator_set(struct backend_device *d, const void *allocator)
{
    d->callers = (ssq_cuda_allocator){.alloc = NULL};
    if (allocator != NULL)
        d->callers = *(const ssq_cuda_allocator *)allocator;
}

/* Frees in flight must first return to the pool, which is then trimmed. */
void cuda_trim(struct backend_device *d)
{
    if (d->pool == NULL || cuda_enter(d) != SSQ_OK)
        return;
    CUstreamCaptureMode mode = cuda_relax(d);
    (void)CU(d, StreamSynchronize)(d->memory_order);
    (void)CU(d, MemPoolTrimTo)(d->pool, 0);
    cuda_relaxed(d, mode);
    cuda_leave(d);
}

ssq_status cuda_mem_over(struct backend_device *d, CUdeviceptr address,
                         uint64_t bytes, struct backend_mem **mem)
{
    return cuda_memory_wrap(d->core, address, bytes, CUDA_IMPORTED, mem);
}

ssq_status cuda_mem_external(struct backend_device *d, CUdeviceptr address,
                             uint64_t bytes, CUexternalMemory shared,
                             struct backend_mem **mem)
{
    ssq_status st = cuda_memory_wrap(d->core, address, bytes, CUDA_SHARED, mem);
    if (st == SSQ_OK)
        ((struct cuda_mem *)*mem)->shared = shared;
    return st;
}
