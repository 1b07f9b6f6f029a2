/* SPDX-License-Identifier: Apache-2.0 */
/* cast_stochastic_args.h - the parameters of cast_stochastic.k. */
#ifndef KERNELS_DATA_CAST_STOCHASTIC_ARGS_H
#define KERNELS_DATA_CAST_STOCHASTIC_ARGS_H

#include "kernels/random/stream.h"

struct cast_stochastic_args {
    u32 x_at;
    u32 y_at;
    u32 step_at;
    STRUCT(random_stream) stream;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
};

#endif
