/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - the implementation mma of gemm on CUDA, whose machine has no
 * cuBLASLt: backends/mma, as the cuda module has it. */
#ifndef BACKENDS_CUDA_MMA_H
#define BACKENDS_CUDA_MMA_H

#include "backends/cuda/cuda.h"
#include "backends/mma/mma.h"

/** With the context, behind cuda_lt_open: what this device can. Fails for what
 *  is wrong with the device, not with its products. */
ssq_status cuda_mma_open(struct backend_device *device);
void cuda_mma_close(struct backend_device *device);
bool cuda_mma_check(const struct backend_device *device,
                    const struct gemm_op *op, struct why *why);
ssq_status cuda_mma_run(struct backend_queue *queue, const struct gemm_op *op);
bool cuda_mma_last(const struct backend_device *device,
                   const struct gemm_op *op);

#endif
