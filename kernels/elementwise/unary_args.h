/* SPDX-License-Identifier: Apache-2.0 */
/* unary_args.h - the parameters of the texts of unary ops. */
#ifndef KERNELS_ELEMENTWISE_UNARY_ARGS_H
#define KERNELS_ELEMENTWISE_UNARY_ARGS_H

#include "kernels/elementwise/elementwise.h"
#include "kernels/dialect/runs.h"

#define UNARY_FIELDS                                                           \
    u32 x2_at;                                                                 \
    u32 x4_at;                                                                 \
    u32 y2_at;                                                                 \
    u32 y4_at;                                                                 \
    RUN_FIELDS                                                                 \
    float alpha;                                                               \
    float beta;                                                                \
    RUN_STEPS(x)                                                               \
    RUN_STEPS(y)

/* isnan and its like */
#define UNARY_CLASS_FIELDS                                                     \
    u32 x2_at;                                                                 \
    u32 x4_at;                                                                 \
    u32 y1_at;                                                                 \
    RUN_FIELDS                                                                 \
    RUN_STEPS(x)                                                               \
    RUN_STEPS(y)

/* abs and neg of integers */
#define UNARY_INTEGER_FIELDS                                                   \
    u32 x1_at;                                                                 \
    u32 x4_at;                                                                 \
    u32 y1_at;                                                                 \
    u32 y4_at;                                                                 \
    RUN_FIELDS                                                                 \
    RUN_STEPS(x)                                                               \
    RUN_STEPS(y)

/* y = x (alpha scale) */
#define SCALE_FIELDS                                                           \
    u32 x2_at;                                                                 \
    u32 x4_at;                                                                 \
    u32 y2_at;                                                                 \
    u32 y4_at;                                                                 \
    u32 scale_at;                                                              \
    RUN_FIELDS                                                                 \
    float alpha;                                                               \
    u32 scaled; /* is there a scale? */                                        \
    RUN_STEPS(x)                                                               \
    RUN_STEPS(y)

/* dx = dy f'(x); dx has a type of its own */
#define UNARY_BACKWARD_FIELDS                                                  \
    u32 x2_at;                                                                 \
    u32 x4_at;                                                                 \
    u32 dy2_at;                                                                \
    u32 dy4_at;                                                                \
    u32 dx_at;                                                                 \
    RUN_FIELDS                                                                 \
    float alpha;                                                               \
    float beta;                                                                \
    RUN_STEPS(x)                                                               \
    RUN_STEPS(dy)                                                              \
    RUN_STEPS(dx)

#endif
