/* SPDX-License-Identifier: Apache-2.0 */
/* norm_args.h - the parameters of norm_chunks.k and norm_partials.k. */
#ifndef KERNELS_REDUCE_NORM_ARGS_H
#define KERNELS_REDUCE_NORM_ARGS_H

#include "kernels/operands/tensor.h"

/* part: three sums of each chunk, all of a class together: partial p of class
 * c is at c * total + p. */
struct norm_args {
    u32 x_at;
    u32 part_at;
    u32 n;     /* elements of x */
    u32 first; /* partial of x's first chunk */
    u32 total;
    u32 dense;
    u32 x_dtype;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
};

struct norm_partials_args {
    u32 part_at;
    u32 y_at;
    u32 n;    /* partials to fold */
    u32 last; /* y is the norm; else the partials of the level above */
};

#endif
