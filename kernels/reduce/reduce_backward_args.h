/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward_args.h - the parameters of the gradients of reductions. */
#ifndef KERNELS_REDUCE_REDUCE_BACKWARD_ARGS_H
#define KERNELS_REDUCE_REDUCE_BACKWARD_ARGS_H

#include "kernels/reduce/reduce.h"
#include "kernels/operands/tensor.h"

struct mean_backward_args {
    u32 dy_at;
    u32 dx_at;
    u32 n;
    u32 dy_dtype;
    u32 dx_dtype;
    float divisor;
    u32 rank;
    u32 size[WALK_RANK];
    u32 dy_steps[WALK_RANK];
    u32 dx_steps[WALK_RANK];
};

/* Of each result: y, the share of the gradient of an element that equals it,
 * and what the others get; after all y the shares, after those the rest. */
struct max_ties_args {
    u32 x_at;
    u32 y_at;
    u32 dy_at;
    u32 share_at;
    u32 rows;
    u32 n; /* elements of one reduction */
    u32 x_dtype;
    u32 dy_dtype;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
    u32 dy_steps[WALK_RANK];
};

struct max_backward_args {
    u32 x_at;
    u32 dx_at;
    u32 share_at;
    u32 rows;
    u32 n;
    u32 x_dtype;
    u32 dx_dtype;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 dx_steps[WALK_RANK];
};

#endif
