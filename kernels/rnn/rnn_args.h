/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_args.h - parameters of the kernels of LSTM and GRU cells.
 *
 * A task is a part of at most RNN_COLUMNS columns of a row of [rows, columns];
 * every operand has strides of rows and columns, and those with gates repeat
 * after as many columns. */
#ifndef KERNELS_RNN_RNN_ARGS_H
#define KERNELS_RNN_RNN_ARGS_H

#include "kernels/dialect/floats.h"

#define RNN_COLUMNS 1024u

#define RNN_SIZES                                                              \
    u32 rows;                                                                  \
    u32 columns;                                                               \
    u32 parts; /* tasks of a row */
/* An absent operand has dtype 0. */
#define RNN_MATRIX(N)                                                          \
    u32 N##_dtype;                                                             \
    u32 N##_row;                                                               \
    u32 N##_column;
/* Where column J of gate G is. */
#define RNN_AT(N, ROW, G, J)                                                   \
    ((ROW)*pc.N##_row + ((G)*pc.columns + (J)) * pc.N##_column)
/* For all columns of task T, with the row. */
#define RNN_COLUMN(J, ROW, T)                                                  \
    u32 ROW = T / pc.parts;                                                    \
    u32 J##_from = (T - ROW * pc.parts) * RNN_COLUMNS;                         \
    u32 J##_end = pc.columns - J##_from > RNN_COLUMNS ? J##_from + RNN_COLUMNS \
                                                      : pc.columns;            \
    for (u32 J = J##_from + LOCAL_ID; J < J##_end; J += U32(WG))

#define LSTM_FIELDS                                                            \
    u32 a_at;                                                                  \
    u32 c_at;                                                                  \
    u32 y_at;                                                                  \
    u32 c_out_at;                                                              \
    u32 gates_at;                                                              \
    RNN_SIZES                                                                  \
    RNN_MATRIX(a)                                                              \
    RNN_MATRIX(c)                                                              \
    RNN_MATRIX(y)                                                              \
    RNN_MATRIX(c_out)                                                          \
    RNN_MATRIX(gates)

#define LSTM_BACKWARD_FIELDS                                                   \
    u32 gates_at;                                                              \
    u32 c_out_at;                                                              \
    u32 c_at;                                                                  \
    u32 dy_at;                                                                 \
    u32 dh_at;                                                                 \
    u32 dc_at;                                                                 \
    u32 da_at;                                                                 \
    u32 dc_in_at;                                                              \
    RNN_SIZES                                                                  \
    RNN_MATRIX(gates)                                                          \
    RNN_MATRIX(c_out)                                                          \
    RNN_MATRIX(c)                                                              \
    RNN_MATRIX(dy)                                                             \
    RNN_MATRIX(dh)                                                             \
    RNN_MATRIX(dc)                                                             \
    RNN_MATRIX(da)                                                             \
    RNN_MATRIX(dc_in)

#define GRU_FIELDS                                                             \
    u32 u_at;                                                                  \
    u32 v_at;                                                                  \
    u32 h_at;                                                                  \
    u32 y_at;                                                                  \
    u32 gates_at;                                                              \
    u32 q_at;                                                                  \
    RNN_SIZES                                                                  \
    u32 stage;                                                                 \
    RNN_MATRIX(u)                                                              \
    RNN_MATRIX(v)                                                              \
    RNN_MATRIX(h)                                                              \
    RNN_MATRIX(y)                                                              \
    RNN_MATRIX(gates)                                                          \
    RNN_MATRIX(q)

#define GRU_BACKWARD_FIELDS                                                    \
    u32 gates_at;                                                              \
    u32 q_at;                                                                  \
    u32 h_at;                                                                  \
    u32 dy_at;                                                                 \
    u32 dh_at;                                                                 \
    u32 du_at;                                                                 \
    u32 dv_at;                                                                 \
    u32 dh_in_at;                                                              \
    RNN_SIZES                                                                  \
    u32 stage;                                                                 \
    RNN_MATRIX(gates)                                                          \
    RNN_MATRIX(q)                                                              \
    RNN_MATRIX(h)                                                              \
    RNN_MATRIX(dy)                                                             \
    RNN_MATRIX(dh)                                                             \
    RNN_MATRIX(du)                                                             \
    RNN_MATRIX(dv)                                                             \
    RNN_MATRIX(dh_in)

#endif
