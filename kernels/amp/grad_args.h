/* SPDX-License-Identifier: Apache-2.0 */
/* grad_args.h - the parameters of grad_check.k and grad_fold.k. */
#ifndef KERNELS_AMP_GRAD_ARGS_H
#define KERNELS_AMP_GRAD_ARGS_H

#include "kernels/amp/amp_list.h"

/* A partial is what a task found of its chunk, and lies in scratch: word F of
 * partial I is word F * parts + I, where parts is how many there are. */
#define PART_INFS       0u
#define PART_NANS       1u
#define PART_FIRST      2u /* 2 * the first bad element + is it NaN */
#define PART_ZEROS      3u
#define PART_SUBNORMALS 4u
#define PART_LARGEST    5u /* finite magnitude, as bits of a float32 */
#define PART_COUNTS     6u
#define PART_TENSOR     6u
#define PART_NORM       7u /* three sums */
#define PART_WORDS      10u
#define PART_NONE       0xffffffffu

struct grad_check_args {
    u32 table_at;
    u32 control_at;
    u32 block_at;
    u32 parts_at;
    u32 x_at;
    STRUCT(row_table) list;
    u32 parts; /* of all launches */
    u32 dtype;
    u32 controlled; /* there is a control */
    u32 scaled;     /* there is a block */
    float factor;
};

struct grad_fold_args {
    u32 parts_at;
    u32 tensors_at;
    u32 control_at;
    u32 record_at;
    u32 stats_at;
    u32 labels_at;
    u32 parts;
    u32 tensors; /* whose statistics are wanted */
    u32 controlled;
    u32 labelled; /* there are labels */
};

#endif
