/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_args.h - parameters of the kernels of LSTM and GRU cells.
 *
 * A task is a part of at most RNN_COLUMNS columns of a row of [rows, columns];
 * every operand has strides of rows and columns, and those with gates repeat
 * after as many columns. */
#ifndef KERNELS_RNN_RNN_ARGS_H
#define KERNELS_RNN_RNN_ARGS_H

#include "kernels/operands/floats.h"

/* Columns of a task at most. */
#define RNN_COLUMNS 1024u

struct rnn_sizes {
    u32 rows;
    u32 columns;
    u32 parts; /* tasks of a row */
};
/* Steps, in elements, from row to row and from column to column. An absent
 * operand has dtype 0. */
struct rnn_matrix {
    u32 dtype;
    u32 row;
    u32 column;
};
/* Where column J of gate G is. */
#define RNN_AT(N, ROW, G, J)                                                   \
    ((ROW)*pc.N.row + ((G)*pc.size.columns + (J)) * pc.N.column)
/* The row of a task, and its columns. */
struct rnn_part {
    u32 row;
    u32 from;
    u32 end;
};

FN STRUCT(rnn_part) rnn_part_of(u32 t, STRUCT(rnn_sizes) size)
{
    STRUCT(rnn_part) p;

    p.row = t / size.parts;
    p.from = (t - p.row * size.parts) * RNN_COLUMNS;
    p.end = size.columns - p.from > RNN_COLUMNS ? p.from + RNN_COLUMNS
                                                : size.columns;
    return p;
}
#define EACH_RNN_COLUMN(J, PART)                                               \
    for (u32 J = (PART).from + LOCAL_ID; J < (PART).end; J += U32(WG))

/* a: the sums of products that the four gates are functions of. c and gates may
 * be absent: the state is 0 then, and nothing is saved. */
struct lstm_args {
    u32 a_at;
    u32 c_at;
    u32 y_at;
    u32 c_out_at;
    u32 gates_at;
    STRUCT(rnn_sizes) size;
    STRUCT(rnn_matrix) a;
    STRUCT(rnn_matrix) c;
    STRUCT(rnn_matrix) y;
    STRUCT(rnn_matrix) c_out;
    STRUCT(rnn_matrix) gates;
};

/* gates: the values saved by the forward pass; dy and dh: two gradients of the
 * value, from above and from the next step, either of which may be absent. */
struct lstm_backward_args {
    u32 gates_at;
    u32 c_out_at;
    u32 c_at;
    u32 dy_at;
    u32 dh_at;
    u32 dc_at;
    u32 da_at;
    u32 dc_in_at;
    STRUCT(rnn_sizes) size;
    STRUCT(rnn_matrix) gates;
    STRUCT(rnn_matrix) c_out;
    STRUCT(rnn_matrix) c;
    STRUCT(rnn_matrix) dy;
    STRUCT(rnn_matrix) dh;
    STRUCT(rnn_matrix) dc;
    STRUCT(rnn_matrix) da;
    STRUCT(rnn_matrix) dc_in;
};

/* u: the products of the input, v: the state's, each with three gates.
 * q: v's part of the candidate, saved for the gradient. y: the value, or with
 * GRU_RESET the state that is reset. */
struct gru_args {
    u32 u_at;
    u32 v_at;
    u32 h_at;
    u32 y_at;
    u32 gates_at;
    u32 q_at;
    STRUCT(rnn_sizes) size;
    u32 stage;
    STRUCT(rnn_matrix) u;
    STRUCT(rnn_matrix) v;
    STRUCT(rnn_matrix) h;
    STRUCT(rnn_matrix) y;
    STRUCT(rnn_matrix) gates;
    STRUCT(rnn_matrix) q;
};

/* As above; dh_in is what this kernel knows of h's gradient: the products add
 * the rest. */
struct gru_backward_args {
    u32 gates_at;
    u32 q_at;
    u32 h_at;
    u32 dy_at;
    u32 dh_at;
    u32 du_at;
    u32 dv_at;
    u32 dh_in_at;
    STRUCT(rnn_sizes) size;
    u32 stage;
    STRUCT(rnn_matrix) gates;
    STRUCT(rnn_matrix) q;
    STRUCT(rnn_matrix) h;
    STRUCT(rnn_matrix) dy;
    STRUCT(rnn_matrix) dh;
    STRUCT(rnn_matrix) du;
    STRUCT(rnn_matrix) dv;
    STRUCT(rnn_matrix) dh_in;
};

#endif
