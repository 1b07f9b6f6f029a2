/* SPDX-License-Identifier: Apache-2.0 */
/* attention_args.h - the parameters of the kernels of attention. */
#ifndef KERNELS_ATTENTION_ATTENTION_ARGS_H
#define KERNELS_ATTENTION_ATTENTION_ARGS_H

#include "kernels/attention/attention.h"

/* Operands of any float dtype are bound twice, as 16-bit and as 32-bit words
 * (q2 and q4), and their dtype says which is read. */
struct attention_forward_args {
    u32 lse_at;
    u32 q2_at;
    u32 q4_at;
    u32 k2_at;
    u32 k4_at;
    u32 v2_at;
    u32 v4_at;
    u32 mask1_at;
    u32 mask2_at;
    u32 mask4_at;
    u32 step_at;
    u32 y2_at;
    u32 y4_at;
    STRUCT(attention_shared) both;
    u32 y_step[3];
    u32 y_dtype;
};

/* attention_rest.k: saved has a pair for each query of all heads: its lse and
 * the part that rounding removed from the lse. */
struct attention_rest_args {
    u32 saved_at;
    u32 lse_at;
    u32 q2_at;
    u32 q4_at;
    u32 k2_at;
    u32 k4_at;
    u32 mask1_at;
    u32 mask2_at;
    u32 mask4_at;
    STRUCT(attention_shared) both;
};

/* y is the gradient to be written, saved the result of attention_rest.k. delta
 * and v are bound for dq and dk only, which need the change of the weights. */
struct attention_gradient_args {
    u32 saved_at;
    u32 q2_at;
    u32 q4_at;
    u32 k2_at;
    u32 k4_at;
    u32 mask1_at;
    u32 mask2_at;
    u32 mask4_at;
    u32 step_at;
    u32 dy2_at;
    u32 dy4_at;
    u32 y2_at;
    u32 y4_at;
    u32 delta_at;
    u32 v2_at;
    u32 v4_at;
    STRUCT(attention_shared) both;
    u32 dy_step[3];
    u32 y_step[3];
    u32 dy_dtype;
    u32 y_dtype;
};

struct attention_delta_args {
    u32 delta_at;
    u32 y2_at;
    u32 y4_at;
    u32 dy2_at;
    u32 dy4_at;
    u32 n; /* rows */
    u32 heads;
    u32 tq;
    u32 dv;
    u32 y_step[3];
    u32 dy_step[3];
    u32 y_dtype;
    u32 dy_dtype;
};

#endif
