/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batch.h - one matrix of a batch. */
#ifndef BACKENDS_CPU_GEMM_GEMM_BATCH_H
#define BACKENDS_CPU_GEMM_GEMM_BATCH_H

#include "backends/cpu/gemm/gemm_job.h"

/** Return the factors and the result of matrix z, in row-major order. */
void gemm_matrix(const struct gemm_job *job, int64_t z, struct gemm_source *a,
                 struct gemm_source *b, struct gemm_result *result);

/** Return the kind of rows of a dtype, for reading in place or writing. */
enum gemm_rows gemm_rows_of(uint32_t dtype);

#endif
