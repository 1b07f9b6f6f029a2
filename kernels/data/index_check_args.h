/* SPDX-License-Identifier: Apache-2.0 */
/* index_check_args.h - the parameters of index_check.k and index_fold.k. */
#ifndef KERNELS_DATA_INDEX_CHECK_ARGS_H
#define KERNELS_DATA_INDEX_CHECK_ARGS_H

#include "kernels/dialect/group.h"
#include "kernels/operands/tensor.h"

/* Indices of a task, unless there is one task alone. */
#define INDEX_CHUNK 4096u
/* The place of the first wrong index, if there is none. */
#define INDEX_NONE 0xffffffffu

/* A task finds the number of its wrong indices and the place of the first: with
 * one task these go into the record, else into parts, words t and tasks + t of
 * task t. */
struct index_check_args {
    u32 index_at;
    u32 parts_at;
    u32 record_at;
    u32 count; /* indices */
    u32 chunk; /* of a task */
    u32 tasks;
    u32 n; /* 0 .. n - 1 are valid */
    u32 may_ignore;
    u32 ignore_index;
    u32 rank;
    u32 size[WALK_RANK];
    u32 steps[WALK_RANK];
};

/* Words of the record, as INDEX_ in lib/core/module/data.h. */
#define INDEX_LESS(A, B) ((B) < (A) ? (B) : (A))
/* Update the record with WRONG indices, the first of them at PLACE. */
#define INDEX_RECORD(WRONG, PLACE)                                             \
    if ((WRONG) != 0u) {                                                       \
        u32 first = PLACE;                                                     \
        WALK1(first, from, steps)                                              \
        AT(record, 0u) += WRONG;                                               \
        AT(record, 1u) = first;                                                \
        AT(record, 2u) = AT(index, from);                                      \
        AT(record, 3u) = pc.n;                                                 \
    }

#endif
