/* SPDX-License-Identifier: Apache-2.0 */
/* unary_args.h - the parameters of the sources of unary ops. */
#ifndef KERNELS_ELEMENTWISE_UNARY_ARGS_H
#define KERNELS_ELEMENTWISE_UNARY_ARGS_H

#include "kernels/elementwise/unary_kinds.h"
#include "kernels/operands/runs.h"

/* Operands of any float dtype are bound twice, as 16-bit and as 32-bit words
 * (x2 and x4); run's dtypes say which is read. alpha, beta: the parameters of
 * the kind. */
struct unary_args {
    u32 x2_at;
    u32 x4_at;
    u32 y2_at;
    u32 y4_at;
    STRUCT(run_shape) run;
    float alpha;
    float beta;
    u32 x_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* isnan and its like */
struct unary_class_args {
    u32 x2_at;
    u32 x4_at;
    u32 y1_at;
    STRUCT(run_shape) run;
    u32 x_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* abs and neg of integers */
struct unary_integer_args {
    u32 x1_at;
    u32 x4_at;
    u32 y1_at;
    u32 y4_at;
    STRUCT(run_shape) run;
    u32 x_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* y = x (alpha scale) */
struct scale_args {
    u32 x2_at;
    u32 x4_at;
    u32 y2_at;
    u32 y4_at;
    u32 scale_at;
    STRUCT(run_shape) run;
    float alpha;
    u32 scaled; /* is a scale given? */
    u32 x_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* dx = dy f'(x) */
struct unary_backward_args {
    u32 x2_at;
    u32 x4_at;
    u32 dy2_at;
    u32 dy4_at;
    u32 dx2_at;
    u32 dx4_at;
    STRUCT(run_shape) run;
    float alpha;
    float beta;
    u32 x_steps[RUN_RANK];
    u32 dy_steps[RUN_RANK];
    u32 dx_steps[RUN_RANK];
};

#endif
