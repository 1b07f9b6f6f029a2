/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_args.h - the parameters of the softmax kernels. */
#ifndef KERNELS_SOFTMAX_SOFTMAX_ARGS_H
#define KERNELS_SOFTMAX_SOFTMAX_ARGS_H

#include "kernels/operands/tensor.h"

#define SOFTMAX_RANK 5 /* of the counter of rows */

/* The work of a launch: whole rows; or, if rows are few and long, their parts:
 * first what is known of each part, then, when softmax_fold.k has made one
 * maximum and sum for each row of these, the results. Part s of a row begins
 * with its element s * part. */
#define SOFTMAX_WHOLE 0u
#define SOFTMAX_PARTS 1u
#define SOFTMAX_APPLY 2u

/* All steps are in elements. Without splits a row is one part of n elements,
 * and known is not used. */
struct softmax_args {
    u32 x_at;
    u32 y_at;
    u32 known_at;
    u32 rows; /* of columns: walked places */
    u32 n;
    u32 x_step; /* from element to element of a row */
    u32 y_step;
    u32 splits; /* parts of a row */
    u32 part;   /* elements of each part but the last */
    u32 phase;  /* SOFTMAX_WHOLE, .. */
    u32 is_log;
    u32 cols; /* softmax_columns.k: neighbouring rows, of one walked place */
    u32 x_col; /* from one of these rows to the next */
    u32 y_col;
    u32 rank;
    u32 size[SOFTMAX_RANK];
    u32 x_steps[SOFTMAX_RANK];
    u32 y_steps[SOFTMAX_RANK];
};

/* In `part` are the maxima of all parts of all rows, and after these their
 * sums; in `known` the sums of all rows, in the same way. */
struct softmax_fold_args {
    u32 part_at;
    u32 known_at;
    u32 rows;
    u32 splits;
};

/* Passes over a row: its maximum, so that no exponential overflows; the sum of
 * exponentials; the results. */
#define MAXIMUM 0u
#define SUM     1u
#define RESULT  2u

#define MAX_OF(A, B) ((B) > (A) ? (B) : (A)) /* passes over NaNs */
#define SUM_OF(A, B) ((A) + (B))

#define MINUS_INF AS_F32(0xff800000u)

#endif
