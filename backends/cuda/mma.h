/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - the implementation `mma` of gemm on CUDA, for matmuls that cuBLASLt
 * does not do: backends/mma in the cuda module. */
#ifndef BACKENDS_CUDA_MMA_H
#define BACKENDS_CUDA_MMA_H

#include "backends/cuda/cuda.h"
#include "backends/mma/mma.h"

/** Set d->mma, and test the kinds that cuBLASLt does not support. Call it with
 *  the context, after cuda_lt_open(). Fails if the device fails, not if
 *  products are wrong. */
ssq_status cuda_mma_open(struct backend_device *device);
void cuda_mma_close(struct backend_device *device);
bool cuda_mma_check(const struct backend_device *device,
                    const struct gemm_op *op, struct why *why);
ssq_status cuda_mma_run(struct backend_queue *queue, const struct gemm_op *op);
bool cuda_mma_last(const struct backend_device *device,
                   const struct gemm_op *op);

#endif
