/* SPDX-License-Identifier: Apache-2.0 */
/* loss_args.h - the parameters of loss_elements.k. */
#ifndef KERNELS_LOSS_LOSS_ARGS_H
#define KERNELS_LOSS_LOSS_ARGS_H

#include "kernels/operands/floats.h"

#define LOSS_CHUNK 4096u /* elements of a task */

/* The reduction of the values. */
#define LOSS_UNUSED 0u
#define LOSS_EACH   1u
#define LOSS_SUM    2u /* one for each task */

/* Rank 0: all walk evenly. Else the table has the sizes, then each operand's
 * steps. An absent operand has dtype 0. */
struct loss_args {
    u32 x_at;
    u32 target_at;
    u32 weight_at;
    u32 positive_at;
    u32 dloss_at;
    u32 dx_at;
    u32 loss_at;
    u32 table_at;
    u32 n;
    u32 tasks;
    u32 rank;
    u32 kind;
    u32 values;
    u32 x_dtype;
    u32 target_dtype;
    u32 weight_dtype;
    u32 positive_dtype;
    u32 dx_dtype;
    u32 dloss_given; /* else it is 1 */
    u32 dloss_each; /* else one for all */
    float scale;    /* of values in sums */
    float parameter; /* beta or delta of the kind */
    float count;     /* divides the gradient: a mean's */
};

#endif
