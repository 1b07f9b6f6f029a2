/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_job.h - a GEMM as the loops use it: addresses and steps. */
#ifndef BACKENDS_CPU_GEMM_GEMM_JOB_H
#define BACKENDS_CPU_GEMM_GEMM_JOB_H

#include <sesqui/tensor.h>

#include "backends/cpu/gemm/gemm_kernels.h"

/** The matrices of a batch: elements from one to the next, along each dimension
 * of the batch. */
struct gemm_batch {
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    int64_t a[SSQ_MAX_RANK], b[SSQ_MAX_RANK], c[SSQ_MAX_RANK];
    int64_t bias[SSQ_MAX_RANK], d[SSQ_MAX_RANK];
};

/** A whole GEMM: a, b and result are of the first matrix. */
struct gemm_job {
    const struct gemm_kernels *kernels;
    int64_t batch, m, n, k;
    struct gemm_source a, b; /* not read if k is 0 */
    const void
        *panels; /* b's whole panels, already packed, all of k; or NULL */
    struct gemm_result result;
    struct gemm_batch to;
    atomic_bool *not_finite; /* as in struct gemm_panels. It ends the GEMM, and
                                d must then not be used */
};

#endif
