/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_args.h - the parameters of the softmax kernels. */
#ifndef KERNELS_SOFTMAX_SOFTMAX_ARGS_H
#define KERNELS_SOFTMAX_SOFTMAX_ARGS_H

#include "kernels/dialect/tensor.h"

#define SOFTMAX_RANK 5 /* of what counts rows */

/* A row at once; or where rows are few and long its parts: first what is known
 * of each part, then, when softmax_fold.k has made that one for each row, the
 * results. Part s of a row has elements s * part and on. */
#define SOFTMAX_WHOLE 0u
#define SOFTMAX_PARTS 1u
#define SOFTMAX_APPLY 2u

struct softmax_args {
    u32 x_at;
    u32 y_at;
    u32 known_at;
    u32 rows; /* of columns: walked places */
    u32 n;
    u32 x_step;
    u32 y_step;
    u32 splits;
    u32 part;
    u32 phase;
    u32 is_log;
    u32 cols; /* softmax_columns.k: neighbouring rows, of one walked place */
    u32 x_col;
    u32 y_col;
    u32 rank;
    u32 size[SOFTMAX_RANK];
    u32 x_steps[SOFTMAX_RANK];
    u32 y_steps[SOFTMAX_RANK];
};

/* known: of each part the maximum and, after all of those, the sum */
struct softmax_fold_args {
    u32 part_at;
    u32 known_at;
    u32 rows;
    u32 splits;
};

/* Three passes over a row. */
#define MAXIMUM 0u
#define SUM     1u
#define RESULT  2u

#define MAX_OF(A, B) ((B) > (A) ? (B) : (A)) /* passes over NaNs */
#define SUM_OF(A, B) ((A) + (B))

#define MINUS_INF AS_F32(0xff800000u)

#endif
