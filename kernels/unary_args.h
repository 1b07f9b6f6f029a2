/* SPDX-License-Identifier: Apache-2.0 */
/* unary_args.h - the parameters of unary.k and unary_integer.k. */
#ifndef KERNELS_UNARY_ARGS_H
#define KERNELS_UNARY_ARGS_H

#include "kernels/elementwise.h"
#include "kernels/tensor.h"

#define UNARY_FIELDS                                                           \
    u32 x_at;                                                                  \
    u32 y_at;                                                                  \
    u32 n;                                                                     \
    u32 dense; /* else by strides */                                           \
    u32 x_dtype;                                                               \
    u32 y_dtype;                                                               \
    float alpha;                                                               \
    float beta;                                                                \
    u32 kind; /* unary_integer.k */                                            \
    WALK_SHAPE                                                                 \
    WALK_STEPS(x_steps)                                                        \
    WALK_STEPS(y_steps)

#endif
