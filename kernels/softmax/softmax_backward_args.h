/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_backward_args.h - the parameters of softmax_backward.k. */
#ifndef KERNELS_SOFTMAX_SOFTMAX_BACKWARD_ARGS_H
#define KERNELS_SOFTMAX_SOFTMAX_BACKWARD_ARGS_H

#include "kernels/softmax/softmax_args.h"

/* As softmax_args; known has one number for each part, or row: s, the sum that
 * its elements are compared with. */
struct softmax_backward_args {
    u32 y_at;
    u32 dy_at;
    u32 dx_at;
    u32 known_at;
    u32 rows;
    u32 n;
    u32 y_step;
    u32 dy_step;
    u32 dx_step;
    u32 splits;
    u32 part;
    u32 phase;
    u32 is_log;
    u32 y_dtype;
    u32 dy_dtype;
    u32 dx_dtype;
    u32 rank;
    u32 size[SOFTMAX_RANK];
    u32 y_steps[SOFTMAX_RANK];
    u32 dy_steps[SOFTMAX_RANK];
    u32 dx_steps[SOFTMAX_RANK];
};

#endif
