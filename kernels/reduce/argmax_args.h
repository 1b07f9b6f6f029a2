/* SPDX-License-Identifier: Apache-2.0 */
/* argmax_args.h - the parameters of argmax.k and argmax_fold.k. */
#ifndef KERNELS_REDUCE_ARGMAX_ARGS_H
#define KERNELS_REDUCE_ARGMAX_ARGS_H

#include "kernels/reduce/reduce.h"
#include "kernels/operands/tensor.h"

#define ARGMAX_RANK 5 /* of the counter of rows */

/* found: of each part of a row the rank, and after all of those the position;
 * only where there are parts. */
struct argmax_args {
    u32 x_at;
    u32 y_at;
    u32 found_at;
    u32 rows;
    u32 n;
    u32 step;
    u32 splits;
    u32 part;
    u32 minimum;
    u32 last; /* of equal ones */
    u32 x_dtype;
    u32 rank;
    u32 size[ARGMAX_RANK];
    u32 x_steps[ARGMAX_RANK];
    u32 y_steps[ARGMAX_RANK];
};

struct argmax_fold_args {
    u32 found_at;
    u32 y_at;
    u32 rows;
    u32 splits;
    u32 last;
    u32 rank;
    u32 size[ARGMAX_RANK];
    u32 y_steps[ARGMAX_RANK];
};

/* Does rank R at P win over S at Q? A position that no element has taken yet
 * loses to all. */
FN bool argmax_wins(u32 r, u32 p, u32 s, u32 q, bool last)
{
    return r > s || (r == s && (last ? p >= q : p < q));
}

FN u32 argmax_nowhere(bool last)
{
    return last ? 0u : 0xffffffffu;
}

#endif
