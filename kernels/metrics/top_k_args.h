/* SPDX-License-Identifier: Apache-2.0 */
/* top_k_args.h - the parameters of top_k_rows.k and top_k_total.k. */
#ifndef KERNELS_METRICS_TOP_K_ARGS_H
#define KERNELS_METRICS_TOP_K_ARGS_H

#include "kernels/dialect/group.h"
#include "kernels/operands/tensor.h"

/* The results of a row. */
#define TOP_K_MISS    0u
#define TOP_K_HIT     1u
#define TOP_K_IGNORED 2u

/* found: a word for each row, TOP_K_MISS or another. may_ignore: there is an
 * index, ignore_index, whose rows do not count. */
struct top_k_args {
    u32 x_at;
    u32 target_at;
    u32 found_at;
    u32 rows;
    u32 n; /* classes */
    u32 k; /* places that are a hit */
    u32 items; /* each row by an item, not by a group */
    u32 x_step;
    u32 x_dtype;
    u32 may_ignore;
    u32 ignore_index;
    u32 rank;
    u32 size[WALK_RANK];
    u32 x_steps[WALK_RANK];
    u32 target_steps[WALK_RANK];
};

/* Each of the two results may be absent. */
struct top_k_total_args {
    u32 found_at;
    u32 accuracy_at;
    u32 hits_at;
    u32 rows;
    u32 accuracy_given;
    u32 hits_given;
};

#endif
