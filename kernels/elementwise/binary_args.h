/* SPDX-License-Identifier: Apache-2.0 */
/* binary_args.h - the parameters of the sources of ops on two operands. */
#ifndef KERNELS_ELEMENTWISE_BINARY_ARGS_H
#define KERNELS_ELEMENTWISE_BINARY_ARGS_H

#include "kernels/elementwise/elementwise.h"
#include "kernels/operands/runs.h"

/* y = f(a, b) */
struct binary_args {
    u32 a2_at;
    u32 a4_at;
    u32 b2_at;
    u32 b4_at;
    u32 y2_at;
    u32 y4_at;
    STRUCT(run_shape) run;
    float alpha;
    float beta;
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* Operands that may be of several widths are bound once for each: a1 as bytes,
 * a2 as 16-bit and a4 as 32-bit words; run's dtypes say which is read. */
struct binary_integer_args {
    u32 a1_at;
    u32 a4_at;
    u32 b1_at;
    u32 b4_at;
    u32 y1_at;
    u32 y4_at;
    STRUCT(run_shape) run;
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* y = 1 where the comparison holds, else 0; run's kind says which. */
struct compare_args {
    u32 a1_at;
    u32 a2_at;
    u32 a4_at;
    u32 b1_at;
    u32 b2_at;
    u32 b4_at;
    u32 y_at;
    STRUCT(run_shape) run;
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* y = cond != 0 ? a : b */
struct where_args {
    u32 cond_at;
    u32 a1_at;
    u32 a2_at;
    u32 a4_at;
    u32 b1_at;
    u32 b2_at;
    u32 b4_at;
    u32 y1_at;
    u32 y2_at;
    u32 y4_at;
    STRUCT(run_shape) run;
    u32 cond_steps[RUN_RANK];
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 y_steps[RUN_RANK];
};

/* dx of f(a, b) where nothing is summed */
struct binary_backward_args {
    u32 a2_at;
    u32 a4_at;
    u32 b2_at;
    u32 b4_at;
    u32 dy2_at;
    u32 dy4_at;
    u32 dx2_at;
    u32 dx4_at;
    STRUCT(run_shape) run;
    u32 a_steps[RUN_RANK];
    u32 b_steps[RUN_RANK];
    u32 dy_steps[RUN_RANK];
    u32 dx_steps[RUN_RANK];
};

/* Sums of it over what was broadcast: binary_sum.k and binary_columns.k. A
 * sum's terms are cut into chunks, which have a result each where there are
 * several. */
#define BINARY_SUM_RANK 6
struct binary_sum_args {
    u32 a2_at;
    u32 a4_at;
    u32 b2_at;
    u32 b4_at;
    u32 dy2_at;
    u32 dy4_at;
    u32 dx2_at;
    u32 dx4_at;
    STRUCT(run_dtypes) run;
    u32 terms; /* of one sum */
    u32 width; /* sums in a row */
    u32 cols;  /* of those in a task */
    u32 tiles; /* tasks of a row */
    u32 rows;
    u32 tasks;
    u32 dx_chunk; /* dx's step from chunk to chunk */
    u32 whole;    /* dx is the result, else sums of chunks */
    u32 a_col;    /* steps along a row */
    u32 b_col;
    u32 dy_col;
    u32 dx_col;
    u32 outer; /* dimensions of the rows, before the ones that are summed */
    u32 rank;  /* all of them */
    u32 size[BINARY_SUM_RANK];
    u32 a_steps[BINARY_SUM_RANK];
    u32 b_steps[BINARY_SUM_RANK];
    u32 dy_steps[BINARY_SUM_RANK];
    u32 dx_steps[BINARY_SUM_RANK];
};

FN u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

/* Where the inputs of a sum, and it, are: SUM_ROW declares where its row's
 * begin, at column col, without what SUM_ADD_ROW adds in a walk. */
#define SUM_INPUTS(F)   F(a) F(b) F(dy)
#define SUM_ROW(N)      u32 N##_row = col * pc.N##_col;
#define SUM_ADD_ROW(N)  N##_row += sum_r * pc.N##_steps[sum_d - 1u];
#define SUM_ADD_TERM(N) N##_off += sum_r * pc.N##_steps[sum_d - 1u];

/* Does ADD, with sum_r and sum_d, for the dimensions FROM .. TO - 1 at position
 * I. The first one needs no division: what is left is its index. */
#define SUM_WALK(I, FROM, TO, ADD)                                             \
    {                                                                          \
        u32 sum_rest = I;                                                      \
        for (u32 sum_d = TO; sum_d > FROM; sum_d--) {                          \
            u32 sum_r = sum_rest;                                              \
            if (sum_d - 1u > FROM) {                                           \
                sum_rest = sum_r / pc.size[sum_d - 1u];                        \
                sum_r = sum_r - sum_rest * pc.size[sum_d - 1u];                \
            }                                                                  \
            ADD                                                                \
        }                                                                      \
    }

/* One term of the gradient for a, or for b when second is 1. */
FN float binary_term(u32 kind, u32 second, float a, float b, float dy)
{
    if (second != 0u)
        return binary_grad_b(kind, a, b, dy);
    return binary_grad_a(kind, a, b, dy);
}

#endif
