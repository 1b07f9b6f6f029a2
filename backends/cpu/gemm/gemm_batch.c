/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batch.c - find matrix z of a batch. */
#include "backends/cpu/gemm/gemm_batch.h"

static int64_t gemm_batch_bytes(uint32_t dtype, int64_t n)
{
    return n * (dtype == SSQ_F32 ? 4 : 2);
}

/* An absent operand stays absent. */
static const void *gemm_batch_moved(const void *base, uint32_t dtype, int64_t n)
{
    return base == NULL ? NULL
                        : (const char *)base + gemm_batch_bytes(dtype, n);
}

void gemm_matrix(const struct gemm_job *job, int64_t z, struct gemm_source *a,
                 struct gemm_source *b, struct gemm_result *result)
{
    const struct gemm_batch *to = &job->to;
    int64_t at_a = 0, at_b = 0, at_c = 0, at_bias = 0, at_d = 0;
    for (int i = to->rank - 1; i >= 0; i--) {
        int64_t place = i > 0 ? z % to->shape[i] : z;
        if (i > 0)
            z /= to->shape[i];
        at_a += place * to->a[i];
        at_b += place * to->b[i];
        at_c += place * to->c[i];
        at_bias += place * to->bias[i];
        at_d += place * to->d[i];
    }
    *a = job->a;
    *b = job->b;
    *result = job->result;
    a->data = gemm_batch_moved(a->data, a->dtype, at_a);
    b->data = gemm_batch_moved(b->data, b->dtype, at_b);
    result->c = gemm_batch_moved(result->c, GEMM_TYPE_C(result), at_c);
    result->bias =
        gemm_batch_moved(result->bias, GEMM_TYPE_BIAS(result), at_bias);
    result->d = (char *)result->d + gemm_batch_bytes(GEMM_TYPE_D(result), at_d);
}

enum gemm_rows gemm_rows_of(uint32_t dtype)
{
    return dtype == SSQ_F32   ? GEMM_F32
           : dtype == SSQ_F16 ? GEMM_F16
                              : GEMM_BF16;
}
