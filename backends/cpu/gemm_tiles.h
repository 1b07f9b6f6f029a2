/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiles.h - which products the processor's tiles make, and how. */
#ifndef BACKENDS_CPU_GEMM_TILES_H
#define BACKENDS_CPU_GEMM_TILES_H

#include "backends/cpu/gemm_job.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/tiles.h"
#include "lib/op/gemm/gemm.h"

/** gemm_impl.check: a pure function of shape, dtypes and the device. */
bool tiles_check(const struct backend_device *device, const struct gemm_op *op,
                 struct why *why);

/** Of an op that is admitted: how many products of halves make one of f16; 0
 *  if factors stay whole. */
uint32_t tiles_products(const struct tiles *tiles, const struct gemm_op *op);

/** Its kernels. */
const struct gemm_kernels *tiles_kernels(const struct tiles *tiles,
                                         const struct gemm_op *op);

/** True if the bound of float32 sums of k products, in doc/design/numbers.md,
 *  holds for so many products of halves. */
bool tiles_bounded(int64_t k, uint32_t products);

/** Set *job->not_finite if a factor of f16 has an infinity or a NaN. */
void tiles_look_through(const struct gemm_job *job, struct team *team);

#endif
