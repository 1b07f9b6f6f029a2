/* SPDX-License-Identifier: Apache-2.0 */
/* blas_check.c - what cublasLtMatmul's documentation demands of a product. */
#include "tests/fakecuda/blas/blas_state.h"

#include <limits.h>

#define EPILOGUE_DEFAULT 1
#define EPILOGUE_BIAS    4

uint64_t blas_size(int type)
{
    return type == R_32F ? 4 : 2;
}

/* Bytes from the first element to the end of the last. */
uint64_t blas_span(const struct fake_layout *x)
{
    return blas_size(x->type) *
           ((uint64_t)(x->batch - 1) * (uint64_t)x->step +
            (x->columns - 1) * (uint64_t)x->leading + x->rows);
}

static cublasStatus_t check_layout(const struct fake_layout *x,
                                   const char *name)
{
    if (x->type != R_32F && x->type != R_16F && x->type != R_16BF)
        return blas_refuse(BLAS_NOT_SUPPORTED, "%s: no such type: %d", name,
                           x->type);
    if (x->rows == 0 || x->columns == 0 || x->rows > INT_MAX ||
        x->columns > INT_MAX)
        return blas_refuse(BLAS_INVALID_VALUE, "%s has %llu rows, %llu columns",
                           name, (unsigned long long)x->rows,
                           (unsigned long long)x->columns);
    if (x->leading < (int64_t)x->rows || x->leading > INT_MAX)
        return blas_refuse(
            BLAS_INVALID_VALUE, "%s: a leading dimension of %lld for %llu rows",
            name, (long long)x->leading, (unsigned long long)x->rows);
    if (x->batch < 1 || x->step < 0)
        return blas_refuse(BLAS_INVALID_VALUE, "%s: a batch of %d, step %lld",
                           name, x->batch, (long long)x->step);
    return BLAS_SUCCESS;
}

static cublasStatus_t check_types(const struct fake_layout *a,
                                  const struct fake_layout *b,
                                  const struct fake_layout *c,
                                  const struct fake_layout *d)
{
    if (a->type != b->type || c->type != d->type ||
        (d->type != R_32F && d->type != a->type))
        return blas_refuse(BLAS_NOT_SUPPORTED,
                           "types %d and %d, to %d and %d: not in the table of "
                           "float32 sums",
                           a->type, b->type, c->type, d->type);
    return BLAS_SUCCESS;
}

/* Rows and columns as they are multiplied. */
static cublasStatus_t check_sizes(const struct fake_desc *desc,
                                  const struct fake_layout *a,
                                  const struct fake_layout *b,
                                  const struct fake_layout *c,
                                  const struct fake_layout *d)
{
    uint64_t m = desc->turn_a ? a->columns : a->rows;
    uint64_t k = desc->turn_a ? a->rows : a->columns;
    uint64_t l = desc->turn_b ? b->columns : b->rows;
    uint64_t n = desc->turn_b ? b->rows : b->columns;

    if (k != l || d->rows != m || d->columns != n || c->rows != m ||
        c->columns != n)
        return blas_refuse(
            BLAS_INVALID_VALUE, "%llux%llu by %llux%llu is not %llux%llu",
            (unsigned long long)m, (unsigned long long)k, (unsigned long long)l,
            (unsigned long long)n, (unsigned long long)d->rows,
            (unsigned long long)d->columns);
    if (a->batch != b->batch || a->batch != c->batch || a->batch != d->batch)
        return blas_refuse(BLAS_INVALID_VALUE, "batches of %d, %d, %d and %d",
                           a->batch, b->batch, c->batch, d->batch);
    if (d->batch > 1 && d->step < d->leading * ((int64_t)n - 1) + (int64_t)m)
        return blas_refuse(BLAS_INVALID_VALUE, "the matrices of D overlap");
    return BLAS_SUCCESS;
}

static cublasStatus_t check_epilogue(const struct fake_desc *desc)
{
    if (desc->epilogue == EPILOGUE_DEFAULT)
        return BLAS_SUCCESS;
    if (desc->epilogue != EPILOGUE_BIAS)
        return blas_refuse(BLAS_NOT_SUPPORTED, "epilogue %u is not built in",
                           desc->epilogue);
    if (desc->bias == 0 || desc->bias % 16 != 0)
        return blas_refuse(BLAS_INVALID_VALUE, "a bias at %#llx",
                           (unsigned long long)desc->bias);
    return BLAS_SUCCESS;
}

cublasStatus_t
blas_check(struct fake_handle *handle, const struct fake_desc *desc,
           const struct fake_layout *a, const struct fake_layout *b,
           const struct fake_layout *c, const struct fake_layout *d)
{
    const struct {
        const void *p;
        enum blas_kind kind;
    } object[] = {{handle, BLAS_HANDLE}, {desc, BLAS_DESC}, {a, BLAS_LAYOUT},
                  {b, BLAS_LAYOUT},      {c, BLAS_LAYOUT},  {d, BLAS_LAYOUT}};
    CUcontext now = NULL;
    cublasStatus_t e;

    for (unsigned i = 0; i < 6; i++)
        if (object[i].p == NULL ||
            *(const enum blas_kind *)object[i].p != object[i].kind)
            return blas_refuse(BLAS_INVALID_VALUE, "argument %u is no object",
                               i + 1);
    if (cuCtxGetCurrent(&now) != CUDA_SUCCESS)
        return BLAS_EXECUTION;
    if (now != handle->ctx)
        return blas_refuse(BLAS_INVALID_VALUE,
                           "another context is current than the handle's");
    e = check_layout(a, "A");
    if (e == BLAS_SUCCESS)
        e = check_layout(b, "B");
    if (e == BLAS_SUCCESS)
        e = check_layout(c, "C");
    if (e == BLAS_SUCCESS)
        e = check_layout(d, "D");
    if (e == BLAS_SUCCESS)
        e = check_types(a, b, c, d);
    if (e == BLAS_SUCCESS)
        e = check_sizes(desc, a, b, c, d);
    return e == BLAS_SUCCESS ? check_epilogue(desc) : e;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * UINT64_C(0x100000001b3) + (h >> 29);
}

uint64_t blas_sum_of(const struct fake_desc *desc, const struct fake_layout *a,
                     const struct fake_layout *b, const struct fake_layout *c,
                     const struct fake_layout *d)
{
    const struct fake_layout *x[] = {a, b, c, d};
    uint64_t h = mix(desc->turn_a, desc->turn_b);

    h = mix(h, desc->epilogue);
    h = mix(h, desc->tf32);
    for (int i = 0; i < 4; i++) {
        h = mix(h, (uint64_t)x[i]->type);
        h = mix(h, x[i]->rows);
        h = mix(h, x[i]->columns);
        h = mix(h, (uint64_t)x[i]->leading);
        h = mix(h, (uint64_t)x[i]->step);
        h = mix(h, (uint64_t)x[i]->batch);
    }
    return h;
}
