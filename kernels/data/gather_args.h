/* SPDX-License-Identifier: Apache-2.0 */
/* gather_args.h - the parameters of gather.k, one_hot.k, and scatter_add.k and
 * the sources that sort for it.
 *
 * Rows of a table are named by an index. The shape is the index's, outer of its
 * dimensions, and then a row's. */
#ifndef KERNELS_DATA_GATHER_ARGS_H
#define KERNELS_DATA_GATHER_ARGS_H

#include "kernels/operands/form.h"

/* The first outer sizes are the index's, the other inner ones a row's. */
struct table_shape {
    u32 form; /* FORM_ROWS: inner is at most 1 */
    u32 n;    /* positions */
    u32 cols; /* elements of a row */
    u32 rows; /* of the table */
    u32 row_step; /* from a row of the table to the next, in elements */
    u32 outer;
    u32 inner;
    u32 size[WALK_RANK];
};

/* gather.k; x_dtype and y_dtype differ where elements are converted. */
struct gather_args {
    u32 x_at;
    u32 idx_at;
    u32 y_at;
    STRUCT(table_shape) table; /* of the rows that are bound */
    u32 first; /* rows before them */
    u32 total; /* rows of the whole table: others are zeros */
    u32 x_dtype;
    u32 y_dtype;
    u32 y_steps[WALK_RANK];
    u32 x_steps[WALK_RANK]; /* the index's, then x's */
};

/* scatter_add.k: key and pos are sorted by the sources below; carry has room
 * for two rows. */
struct scatter_add_args {
    u32 dy_at;
    u32 key_at;
    u32 pos_at;
    u32 dx_at;
    u32 carry_at;
    STRUCT(table_shape) table;
    u32 dy_dtype;
    u32 dx_dtype;
    u32 from; /* positions of this launch */
    u32 to;
    u32 turn; /* which half of carry is written */
    u32 dy_steps[WALK_RANK];
    u32 dx_steps[WALK_RANK]; /* of a row; the outer ones are not used */
};

/* scatter_keys.k makes what is sorted. */
struct scatter_keys_args {
    u32 idx_at;
    u32 key_at;
    u32 pos_at;
    u32 n;
    u32 rows; /* of the table, from the first on; others get no position */
    u32 first;
    u32 rank;
    u32 size[WALK_RANK];
    u32 idx_steps[WALK_RANK];
};

/* Tasks of one item each. */
#if WG == 1
#define EACH_TASK(T, N) EACH_GROUP(T, N)
#else
#define EACH_TASK(T, N) EACH(T, N)
#endif

/* A pass of a radix sort by one digit of the keys, from the lowest on:
 * sort_count.k, sort_scan.k and sort_move.k. Each piece of up to `piece` keys
 * is counted, and later moved, by one item, in order: so equal digits keep
 * their order, which the next pass relies on. table[digit][piece] has the
 * counts, and after the scan the place where the piece's first key of that
 * digit goes. */
struct sort_shape {
    u32 n;
    u32 piece; /* keys of one */
    u32 pieces;
    u32 shift; /* bits of a key below the digit */
    u32 bins; /* values of a digit: a power of two */
};

struct sort_count_args {
    u32 key_at;
    u32 table_at;
    STRUCT(sort_shape) sort;
};

/* n: numbers of the table, bins times pieces. */
struct sort_scan_args {
    u32 table_at;
    u32 n;
};

struct sort_move_args {
    u32 key_at;
    u32 pos_at;
    u32 table_at;
    u32 to_key_at;
    u32 to_pos_at;
    STRUCT(sort_shape) sort;
};

/* on and off are bits of y's dtype. */
struct one_hot_args {
    u32 idx_at;
    u32 y_at;
    STRUCT(form_shape) form;
    u32 rank;
    u32 size[WALK_RANK];
    u32 on;
    u32 off;
    u32 inner; /* rows that share a class before the next has its turn */
    u32 classes;
    u32 class_step; /* of the class along a row: 1 or 0 */
    u32 idx_step;
    u32 y_step;
    u32 idx_steps[WALK_RANK];
    u32 y_steps[WALK_RANK];
};

/* Offsets of position P and of element E of a row, added to OFF. */
#define TABLE_POSITION(P, OFF, STEPS)                                          \
    {                                                                          \
        u32 tp_rest = P;                                                       \
        for (u32 tp_d = pc.table.outer; tp_d > 0u; tp_d--) {                   \
            u32 tp_q = tp_rest / pc.table.size[tp_d - 1u];                     \
            OFF += (tp_rest - tp_q * pc.table.size[tp_d - 1u]) *               \
                   pc.STEPS[tp_d - 1u];                                        \
            tp_rest = tp_q;                                                    \
        }                                                                      \
    }
#define TABLE_ELEMENT(E, OFF, STEPS)                                           \
    {                                                                          \
        u32 te_rest = E;                                                       \
        for (u32 te_d = pc.table.outer + pc.table.inner;                       \
             te_d > pc.table.outer; te_d--) {                                  \
            u32 te_q = te_rest / pc.table.size[te_d - 1u];                     \
            OFF += (te_rest - te_q * pc.table.size[te_d - 1u]) *               \
                   pc.STEPS[te_d - 1u];                                        \
            te_rest = te_q;                                                    \
        }                                                                      \
    }

#endif
