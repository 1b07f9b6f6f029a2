/* SPDX-License-Identifier: Apache-2.0 */
/* lt.c - a device's cuBLASLt from open to close.
 *
 * A fault of cuBLASLt does not make the device unusable: its matmuls are then
 * done by `mma` or the plan "tiled". */
#include "backends/cuda/lt.h"

#include <string.h>

const struct lt_kind *cuda_lt_kind(const struct cuda_lt *lt, ssq_dtype dtype,
                                   bool tf32)
{
    for (int i = 0; i < LT_KINDS; i++)
        if (lt->kind[i].dtype == dtype && lt->kind[i].tf32 == tf32)
            return &lt->kind[i];
    return NULL;
}

cudaDataType cuda_lt_type(ssq_dtype dtype)
{
    return dtype == SSQ_F16    ? CUDA_R_16F
           : dtype == SSQ_BF16 ? CUDA_R_16BF
                               : CUDA_R_32F;
}

uint32_t cuda_lt_align(CUdeviceptr address)
{
    uint32_t align = LT_ALIGN_MOST;
    while (address % align != 0)
        align /= 2;
    return align;
}

/* Return whether the device has instructions for this kind. Compute
 * capabilities before 8.0 have none for bfloat16 and TF32. */
static bool lt_has_kind(const struct backend_device *d, struct lt_kind *kind)
{
    int capability = d->found->capability;
    if ((kind->dtype != SSQ_BF16 && !kind->tf32) || capability >= 80)
        return true;
    return cuda_refuse(&kind->why,
                       "products of %s need compute capability 8.0 or later, "
                       "this is %d.%d",
                       kind->tf32 ? "TF32" : "bf16", capability / 10,
                       capability % 10);
}

/* Test each kind, and log a failure. With the context. */
static void try_kinds(struct backend_device *d)
{
    static const struct lt_kind kinds[LT_KINDS] = {
        {.dtype = SSQ_F16},
        {.dtype = SSQ_BF16},
        {.dtype = SSQ_F32},
        {.dtype = SSQ_F32, .tf32 = true}};
    for (int i = 0; i < LT_KINDS; i++) {
        struct lt_kind *kind = &d->lt->kind[i];
        *kind = kinds[i];
        if (!lt_has_kind(d, kind))
            continue;
        kind->admitted = cuda_lt_test(d, kind);
        if (!kind->admitted)
            d->core->log_line(SSQ_LOG_WARNING, "cuda", "%s: cublaslt: %s",
                              d->found->name, kind->why.text);
    }
}

ssq_status cuda_lt_open(struct backend_device *d)
{
    if (!cuda_blas_have(d->blas, d->core, d->calls, d->driver)) {
        d->lt_why = d->blas->why;
        return SSQ_OK;
    }
    struct cuda_lt *lt = d->core->mem_alloc(sizeof(*lt));
    if (lt == NULL || pthread_mutex_init(&lt->lock, NULL) != 0) {
        d->core->mem_free(lt);
        return cuda_no_memory(d->core, sizeof(*lt));
    }
    lt->blas = d->blas;
    lt->workspace_bytes =
        d->found->capability >= 90 ? LT_WORKSPACE_LARGE : LT_WORKSPACE;
    cublasStatus_t e = lt->blas->Create(&lt->handle);
    if (e != CUBLAS_STATUS_SUCCESS) {
        pthread_mutex_destroy(&lt->lock);
        d->core->mem_free(lt);
        (void)cuda_refuse(&d->lt_why, "%.120s: cublasLtCreate: %s",
                          d->blas->path, cuda_blas_status(e));
        d->core->log_line(SSQ_LOG_WARNING, "cuda", "%s", d->lt_why.text);
        return SSQ_OK;
    }
    d->lt = lt;
    try_kinds(d);
    return SSQ_OK;
}

void cuda_lt_close(struct backend_device *d, bool entered)
{
    struct cuda_lt *lt = d->lt;
    if (lt == NULL)
        return;
    cuda_lt_plans_free(lt);
    if (entered)
        (void)lt->blas->Destroy(lt->handle);
    pthread_mutex_destroy(&lt->lock);
    d->core->mem_free(lt);
    d->lt = NULL;
}
