/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_args.h - the parameters of rotary_rows.k. */
#ifndef KERNELS_ATTENTION_ROTARY_ARGS_H
#define KERNELS_ATTENTION_ROTARY_ARGS_H

#include "kernels/operands/either.h"
#include "kernels/attention/rotary.h"

/* Dimensions of x before a row; the last of them is t. */
#define ROTARY_RANK 5

/* Each of y, cos and sin is bound twice, for elements of 2 and of 4 bytes.
 * Strides lead from element to element of a row, steps from row to row. */
struct rotary_args {
    u32 x_at;
    u32 y2_at;
    u32 y4_at;
    u32 position_at;
    u32 freq_at;
    u32 cos2_at;
    u32 cos4_at;
    u32 sin2_at;
    u32 sin4_at;
    u32 n;     /* rows times slots */
    u32 slots; /* of a row: pairs, then elements to copy */
    u32 pairs;
    u32 interleaved;
    u32 inverse;
    u32 positions; /* given */
    u32 offset;    /* else */
    u32 angles;    /* cos and sin given */
    u32 x_dtype;
    u32 y_dtype;
    u32 cos_dtype;
    u32 sin_dtype;
    u32 x_stride;
    u32 y_stride;
    u32 freq_stride;
    u32 cos_stride;
    u32 sin_stride;
    u32 rank;
    u32 size[ROTARY_RANK];
    u32 x_steps[ROTARY_RANK];
    u32 y_steps[ROTARY_RANK];
    u32 position_steps[ROTARY_RANK];
    u32 cos_steps[ROTARY_RANK];
    u32 sin_steps[ROTARY_RANK];
};

#endif
