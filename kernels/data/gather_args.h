/* SPDX-License-Identifier: Apache-2.0 */
/* gather_args.h - the parameters of gather.k, one_hot.k, and scatter_add.k and
 * the texts that sort for it.
 *
 * Rows of a table are named by an index. The shape is the index's, outer of its
 * dimensions, and then a row's. */
#ifndef KERNELS_DATA_GATHER_ARGS_H
#define KERNELS_DATA_GATHER_ARGS_H

#include "kernels/dialect/form.h"

/* The first outer sizes are the index's, the other inner ones a row's. */
#define TABLE_FIELDS                                                           \
    u32 form; /* FORM_ROWS: inner is at most 1 */                              \
    u32 n;    /* positions */                                                  \
    u32 cols; /* elements of a row */                                          \
    u32 rows; /* of the table */                                               \
    u32 row_step;                                                              \
    u32 outer;                                                                 \
    u32 inner;                                                                 \
    u32 size[WALK_RANK];

#define GATHER_FIELDS                                                          \
    u32 x_at;                                                                  \
    u32 idx_at;                                                                \
    u32 y_at;                                                                  \
    TABLE_FIELDS                                                               \
    u32 x_dtype;                                                               \
    u32 y_dtype;                                                               \
    WALK_STEPS(y_steps)                                                        \
    WALK_STEPS(x_steps) /* the index's, then x's */

#define SCATTER_ADD_FIELDS                                                     \
    u32 dy_at;                                                                 \
    u32 key_at;                                                                \
    u32 pos_at;                                                                \
    u32 dx_at;                                                                 \
    u32 carry_at;                                                              \
    TABLE_FIELDS                                                               \
    u32 dy_dtype;                                                              \
    u32 dx_dtype;                                                              \
    u32 from; /* positions of this launch */                                   \
    u32 to;                                                                    \
    u32 turn; /* which half of carry is written */                             \
    WALK_STEPS(dy_steps)                                                       \
    WALK_STEPS(dx_steps) /* of a row; the outer ones are not used */

#define SCATTER_KEYS_FIELDS                                                    \
    u32 idx_at;                                                                \
    u32 key_at;                                                                \
    u32 pos_at;                                                                \
    u32 n;                                                                     \
    u32 rows;                                                                  \
    WALK_SHAPE                                                                 \
    WALK_STEPS(idx_steps)

/* Tasks of one item each. */
#if WG == 1
#define EACH_TASK(T, N) EACH_GROUP(T, N)
#else
#define EACH_TASK(T, N) EACH(T, N)
#endif

/* One pass of a radix sort: pieces of up to `piece` keys, each counted and
 * moved by one item, in order; table[digit][piece]. */
#define SORT_FIELDS                                                            \
    u32 n;                                                                     \
    u32 piece;                                                                 \
    u32 pieces;                                                                \
    u32 shift;                                                                 \
    u32 bins; /* values of a digit: a power of two */

#define ONE_HOT_REST                                                           \
    u32 on;                                                                    \
    u32 off;                                                                   \
    u32 inner; /* rows that share a class before the next has its turn */      \
    u32 classes;                                                               \
    u32 class_step; /* of the class along a row: 1 or 0 */                     \
    u32 idx_step;                                                              \
    u32 y_step;                                                                \
    WALK_STEPS(idx_steps)                                                      \
    WALK_STEPS(y_steps)

/* Offsets of position P and of element E of a row, added to OFF. */
#define TABLE_POSITION(P, OFF, STEPS)                                          \
    {                                                                          \
        u32 tp_rest = P;                                                       \
        for (u32 tp_d = pc.outer; tp_d > 0u; tp_d--) {                         \
            u32 tp_q = tp_rest / pc.size[tp_d - 1u];                           \
            OFF +=                                                             \
                (tp_rest - tp_q * pc.size[tp_d - 1u]) * pc.STEPS[tp_d - 1u];   \
            tp_rest = tp_q;                                                    \
        }                                                                      \
    }
#define TABLE_ELEMENT(E, OFF, STEPS)                                           \
    {                                                                          \
        u32 te_rest = E;                                                       \
        for (u32 te_d = pc.outer + pc.inner; te_d > pc.outer; te_d--) {        \
            u32 te_q = te_rest / pc.size[te_d - 1u];                           \
            OFF +=                                                             \
                (te_rest - te_q * pc.size[te_d - 1u]) * pc.STEPS[te_d - 1u];   \
            te_rest = te_q;                                                    \
        }                                                                      \
    }

#endif
