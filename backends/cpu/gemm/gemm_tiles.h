/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiles.h - which GEMMs use the processor's tiles, and how. */
#ifndef BACKENDS_CPU_GEMM_GEMM_TILES_H
#define BACKENDS_CPU_GEMM_GEMM_TILES_H

#include "backends/cpu/gemm/gemm_job.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/gemm/tiles.h"
#include "lib/op/gemm/gemm.h"

/** gemm_impl.check: depends only on shape, dtypes and the device. */
bool tiles_check(const struct backend_device *device, const struct gemm_op *op,
                 struct why *why);

/** Return how many products of halves make a product of f16, for an op that was
 *  accepted; 0 if factors are not split. */
uint32_t tiles_products(const struct tiles *tiles, const struct gemm_op *op);

/** Return its kernels. */
const struct gemm_kernels *tiles_kernels(const struct tiles *tiles,
                                         const struct gemm_op *op);

/** True if the bound of float32 sums of k products, in doc/design/numbers.md,
 *  holds for this many products of halves. */
bool tiles_bounded(int64_t k, uint32_t products);

/** Set *job->not_finite if a factor of f16 has an infinity or a NaN. */
void tiles_look_through(const struct gemm_job *job, struct team *team);

#endif
