/* SPDX-License-Identifier: Apache-2.0 */
/* mma.c - the functions of the cuda module for backends/mma: streams and memory
 * for its self-test, and the entries for the list of implementations. */
#include "backends/cuda/mma.h"

#include "backends/cuda/lt.h"
#include "backends/cuda/queue.h"

static uint32_t mma_off(const struct view *v)
{
    return (uint32_t)(cuda_address(v) % MMA_ALIGN);
}

_Static_assert(CUDA_GROUP == MMA_GROUP, "groups of gemm_mma.nv");

/* The stream of a bench. */
struct mma_order {
    CUstream stream;
    CUstreamCaptureMode mode; /* of the thread, to be restored */
};

static ssq_status mma_fail(const struct backend_device *d, CUresult e)
{
    return e == CUDA_SUCCESS ? SSQ_OK
                             : cuda_error(d, "the self-test of mma", e);
}

static void mma_bench_close(struct backend_device *d, struct mma_bench *b)
{
    struct mma_order *o = b->order;
    if (o->stream != NULL)
        (void)CU(d, StreamSynchronize)(o->stream);
    if (b->mem != NULL)
        cuda_free(d, b->mem);
    if (o->stream != NULL)
        (void)CU(d, StreamDestroy)(o->stream);
    cuda_relaxed(d, o->mode);
    cuda_leave(d);
    d->core->mem_free(o);
}

/* Open a bench. Until it is closed, the context is current on this thread, and
 * captures do not restrict the thread. */
static ssq_status mma_bench_open(struct backend_device *d, uint64_t bytes,
                                 struct mma_bench *b)
{
    struct mma_order *o = d->core->mem_alloc(sizeof(*o));
    if (o == NULL)
        return cuda_no_memory(d->core, sizeof(*o));
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK) {
        d->core->mem_free(o);
        return st;
    }
    b->order = o;
    o->mode = cuda_relax(d);
    CUresult e = CU(d, StreamCreate)(&o->stream, CU_STREAM_NON_BLOCKING);
    st = e == CUDA_SUCCESS ? cuda_alloc(d, bytes, &b->mem)
                           : cuda_error(d, "cuStreamCreate", e);
    if (st != SSQ_OK)
        mma_bench_close(d, b);
    return st;
}

static CUdeviceptr mma_place(const struct mma_bench *b, uint64_t at)
{
    return ((const struct cuda_mem *)b->mem)->address + at;
}

static ssq_status mma_bench_write(struct backend_device *d,
                                  const struct mma_bench *b, uint64_t at,
                                  const void *host, size_t bytes)
{
    const struct mma_order *o = b->order;
    CUresult e =
        CU(d, MemcpyHtoDAsync)(mma_place(b, at), host, bytes, o->stream);
    return mma_fail(d, e == CUDA_SUCCESS ? CU(d, StreamSynchronize)(o->stream)
                                         : e);
}

static ssq_status mma_bench_read(struct backend_device *d,
                                 const struct mma_bench *b, uint64_t at,
                                 void *host, size_t bytes)
{
    const struct mma_order *o = b->order;
    CUresult e =
        CU(d, MemcpyDtoHAsync)(host, mma_place(b, at), bytes, o->stream);
    return mma_fail(d, e == CUDA_SUCCESS ? CU(d, StreamSynchronize)(o->stream)
                                         : e);
}

static ssq_status mma_bench_launch(struct backend_device *d,
                                   const struct mma_bench *b,
                                   const struct launch *l)
{
    const struct mma_order *o = b->order;
    return mma_fail(d, cuda_launch_on(d, o->stream, l));
}

static const struct mma_calls calls = {.kernel_get = cuda_kernel_get,
                                       .off = mma_off,
                                       .launch = cuda_launch,
                                       .bench_open = mma_bench_open,
                                       .bench_close = mma_bench_close,
                                       .bench_write = mma_bench_write,
                                       .bench_read = mma_bench_read,
                                       .bench_launch = mma_bench_launch};

/* Kinds that cuBLASLt does not support are tested when the device opens. */
ssq_status cuda_mma_open(struct backend_device *d)
{
    static const ssq_dtype dtypes[] = {SSQ_F16, SSQ_BF16};
    struct mma *mma = d->core->mem_alloc(sizeof(*mma));
    if (mma == NULL)
        return cuda_no_memory(d->core, sizeof(*mma));
    *mma = (struct mma){.calls = &calls,
                        .core = d->core,
                        .backend = "cuda",
                        .name = d->found->name,
                        .capability = d->found->capability,
                        .processors = d->processors,
                        .local_bytes = d->local_bytes};
    if (!mma_open(mma)) {
        d->core->mem_free(mma);
        return cuda_no_memory(d->core, sizeof(mma->lock));
    }
    d->mma = mma;
    ssq_status st = SSQ_OK;
    for (int i = 0; st == SSQ_OK && i < MMA_KINDS; i++)
        st = mma_kind_open(
            mma, d, dtypes[i],
            d->lt == NULL || !cuda_lt_kind(d->lt, dtypes[i], false)->admitted);
    return st;
}

void cuda_mma_close(struct backend_device *d)
{
    if (d->mma == NULL)
        return;
    mma_close(d->mma);
    d->core->mem_free(d->mma);
    d->mma = NULL;
}

bool cuda_mma_check(const struct backend_device *d, const struct gemm_op *op,
                    struct why *why)
{
    /* this changes only the state of a variant, under mma's lock */
    return mma_check(d->mma, (struct backend_device *)(uintptr_t)d, op, why);
}

ssq_status cuda_mma_run(struct backend_queue *q, const struct gemm_op *op)
{
    return mma_run(q->device->mma, q->device, q, op);
}

bool cuda_mma_last(const struct backend_device *d, const struct gemm_op *op)
{
    (void)d;
    return mma_last(op);
}
