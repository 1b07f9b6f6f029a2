/* SPDX-License-Identifier: Apache-2.0 */
/* data_args.h - the parameters of fill.k, copy.k and the texts of cast. */
#ifndef KERNELS_DATA_DATA_ARGS_H
#define KERNELS_DATA_DATA_ARGS_H

#include "kernels/dialect/form.h"

/* Places, then FORM_FIELDS, then: */
#define FILL_REST                                                              \
    u32 bits;                                                                  \
    u32 y_step;                                                                \
    WALK_STEPS(y_steps)

#define COPY_REST                                                              \
    u32 x_step;                                                                \
    u32 y_step;                                                                \
    WALK_STEPS(x_steps)                                                        \
    WALK_STEPS(y_steps)

#define CAST_STOCHASTIC_FIELDS                                                 \
    u32 x_at;                                                                  \
    u32 y_at;                                                                  \
    u32 step_at;                                                               \
    STREAM_FIELDS                                                              \
    WALK_SHAPE                                                                 \
    WALK_STEPS(x_steps)                                                        \
    WALK_STEPS(y_steps)

#endif
