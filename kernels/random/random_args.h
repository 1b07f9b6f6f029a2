/* SPDX-License-Identifier: Apache-2.0 */
/* random_args.h - the parameters of random_fill.k and dropout.k. */
#ifndef KERNELS_RANDOM_RANDOM_ARGS_H
#define KERNELS_RANDOM_RANDOM_ARGS_H

#include "kernels/random/stream.h"

struct random_args {
    u32 y_at;
    u32 step_at;
    STRUCT(random_stream) stream;
    u32 y_dtype;
    u32 threshold;
    u32 always;
    float a;
    float b;
    u32 rank;
    u32 size[WALK_RANK];
    u32 y_steps[WALK_RANK];
};

struct dropout_args {
    u32 x_at;
    u32 y_at;
    u32 mask_at;
    u32 step_at;
    STRUCT(random_stream) stream;
    u32 x_dtype;
    u32 y_dtype;
    u32 masked;
    u32 threshold;
    u32 always;
    float scale;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
    u32 mask_steps[WALK_RANK];
};

#endif
