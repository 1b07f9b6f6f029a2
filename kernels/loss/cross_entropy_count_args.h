/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy_count_args.h - the parameters of cross_entropy_count.k. */
#ifndef KERNELS_LOSS_CROSS_ENTROPY_COUNT_ARGS_H
#define KERNELS_LOSS_CROSS_ENTROPY_COUNT_ARGS_H

#include "kernels/operands/floats.h"
#include "kernels/dialect/group.h"

/* Rows of a task. */
#define ROW_CHUNK 4096u

/* The members of the same name in cross_entropy_args.h; y has a sum for each
 * task. */
struct cross_entropy_count_args {
    u32 target_at;
    u32 weight_at;
    u32 table_at;
    u32 y_at;
    u32 tasks;
    u32 rows;
    u32 n;
    u32 rank;
    u32 target_row;
    u32 weight_step;
    u32 weight_dtype;
    u32 may_ignore;
    u32 ignore_index;
};

#endif
