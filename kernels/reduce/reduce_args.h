/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_args.h - the parameters of reduce_rows.k and reduce_columns.k, and
 * the work of the two for an element.
 *
 * A launch reduces one dimension of x, of n elements, to `splits` results, of
 * `part` elements each but the last. The others are walked: in columns all but
 * one of cols. */
#ifndef KERNELS_REDUCE_REDUCE_ARGS_H
#define KERNELS_REDUCE_REDUCE_ARGS_H

#include "kernels/reduce/reduce.h"
#include "kernels/operands/tensor.h"

#define REDUCE_RANK 5 /* of x, less the reduced one */

struct reduce_args {
    u32 x_at;
    u32 y_at;
    u32 outer; /* elements of the walked shape */
    u32 n;
    u32 step; /* in x from one of them to the next */
    u32 splits;
    u32 part;
    u32 y_split; /* in y from one result to the next */
    u32 cols;
    u32 x_col;
    u32 y_col;
    u32 links;
    u32 minimum;
    u32 x_dtype;
    u32 y_dtype;
    float divisor; /* 0: none */
    u32 rank;
    u32 size[REDUCE_RANK];
    u32 x_steps[REDUCE_RANK];
    u32 y_steps[REDUCE_RANK];
};

/* KIND */
#define REDUCE_ADD     0
#define REDUCE_TIMES   1
#define REDUCE_EXTREME 2

#ifdef KIND
#if KIND == REDUCE_EXTREME
#define VALUE      u32
#define EMPTY      0u
#define JOIN(A, B) ((A) > (B) ? (A) : (B))
#define TERM(I)                                                                \
    extreme_rank(GET_CELL(x, I, X), pc.x_dtype, pc.minimum != 0u)
#define RESULT(I, V)                                                           \
    PUT_CELL(y, I, Y, extreme_of_rank(V, pc.x_dtype, pc.minimum != 0u));
#else
#define VALUE   float
#define TERM(I) LOAD_CELL(x, I, X, pc.x_dtype)
#define RESULT(I, V)                                                           \
    {                                                                          \
        EXACT float result = V;                                                \
        if (pc.divisor != 0.0f)                                                \
            result = s_div(result, pc.divisor);                                \
        STORE_CELL(y, I, Y, pc.y_dtype, result);                               \
    }
#if KIND == REDUCE_ADD
#define EMPTY      -0.0f /* so that -0 alone stays -0 */
#define JOIN(A, B) ((A) + (B))
#else
#define EMPTY      1.0f
#define JOIN(A, B) ((A) * (B))
#endif
#endif
#endif

#endif
