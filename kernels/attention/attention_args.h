/* SPDX-License-Identifier: Apache-2.0 */
/* attention_args.h - the parameters of the kernels of attention. */
#ifndef KERNELS_ATTENTION_ATTENTION_ARGS_H
#define KERNELS_ATTENTION_ATTENTION_ARGS_H

#include "kernels/attention/attention.h"

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

/* delta and v are there for dq and dk */
struct attention_gradient_args {
    u32 lse_at;
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
