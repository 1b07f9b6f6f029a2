/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_args.h - the parameters of the layer norm kernels.
 *
 * A row's elements are the last dimensions'. Where it is one dimension
 * (lined), its elements are `step` apart; else each is walked to. gamma and
 * beta are contiguous rows of float32. */
#ifndef KERNELS_NORM_LAYER_NORM_ARGS_H
#define KERNELS_NORM_LAYER_NORM_ARGS_H

#include "kernels/operands/tensor.h"

/* rows rows of n elements. is_rms: no mean is subtracted, and the deviation is
 * the root of the mean square. */
struct layer_norm_args {
    u32 x_at;
    u32 gamma_at;
    u32 beta_at;
    u32 y_at;
    u32 mean_at;
    u32 rstd_at;
    u32 rows;
    u32 n;
    u32 lined;  /* rows of one dimension */
    u32 x_step; /* and along it, in elements */
    u32 y_step;
    u32 has; /* a bit for each operand that is present */
    u32 is_rms;
    float eps;
    u32 x_dtype;
    u32 y_dtype;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
    u32 mean_steps[WALK_RANK];
    u32 rstd_steps[WALK_RANK];
};

/* Bits of has, of both structs. */
#define HAS_GAMMA  1u
#define HAS_BETA   2u
#define HAS_Y      4u
#define HAS_MEAN   8u
#define HAS_RSTD   16u
#define HAS_DGAMMA 32u
#define HAS_DBETA  64u

/* layer_norm_backward.k and layer_norm_sums.k; HAS_MEAN is not set where the
 * forward pass had no mean. */
struct layer_norm_backward_args {
    u32 x_at;
    u32 mean_at;
    u32 rstd_at;
    u32 dy_at;
    u32 grad_at; /* dx; or the sums of layer_norm_sums.k */
    u32 gamma_at;
    u32 rows;
    u32 n;
    u32 lined;
    u32 x_step;
    u32 dy_step;
    u32 dx_step;
    u32 has;
    u32 block; /* rows of a sum */
    u32 x_dtype;
    u32 dy_dtype;
    u32 dx_dtype;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 dy_steps[WALK_RANK];
    u32 dx_steps[WALK_RANK];
    u32 mean_steps[WALK_RANK];
    u32 rstd_steps[WALK_RANK];
};

#endif
