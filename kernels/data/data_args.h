/* SPDX-License-Identifier: Apache-2.0 */
/* data_args.h - the parameters of fill.k, copy.k and cast.k. */
#ifndef KERNELS_DATA_DATA_ARGS_H
#define KERNELS_DATA_DATA_ARGS_H

#include "kernels/operands/form.h"

/* bits: the element as it is in memory. */
struct fill_args {
    u32 y_at;
    STRUCT(form_shape) form;
    u32 rank;
    u32 size[WALK_RANK];
    u32 bits;
    u32 y_step;
    u32 y_steps[WALK_RANK];
};

/* copy.k and cast.k */
struct copy_args {
    u32 x_at;
    u32 y_at;
    STRUCT(form_shape) form;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_step;
    u32 y_step;
    u32 x_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
};

#endif
