/* SPDX-License-Identifier: Apache-2.0 */
/* random_args.h - the parameters of random_fill.k and dropout.k. */
#ifndef KERNELS_RANDOM_RANDOM_ARGS_H
#define KERNELS_RANDOM_RANDOM_ARGS_H

#include "kernels/random/stream.h"

#define RANDOM_FIELDS                                                          \
    u32 y_at;                                                                  \
    u32 step_at;                                                               \
    STREAM_FIELDS                                                              \
    u32 y_dtype;                                                               \
    u32 threshold;                                                             \
    u32 always;                                                                \
    float a;                                                                   \
    float b;                                                                   \
    WALK_SHAPE                                                                 \
    WALK_STEPS(y_steps)

#define DROPOUT_FIELDS                                                         \
    u32 x_at;                                                                  \
    u32 y_at;                                                                  \
    u32 mask_at;                                                               \
    u32 step_at;                                                               \
    STREAM_FIELDS                                                              \
    u32 x_dtype;                                                               \
    u32 y_dtype;                                                               \
    u32 masked;                                                                \
    u32 threshold;                                                             \
    u32 always;                                                                \
    float scale;                                                               \
    WALK_SHAPE                                                                 \
    WALK_STEPS(x_steps)                                                        \
    WALK_STEPS(y_steps)                                                        \
    WALK_STEPS(mask_steps)

#endif
