/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - LSTM and GRU: the ops, and the common code of sequences.
 *
 * The views of a cell are matrices: [batch, h], or [batch, 4h] and [batch, 3h]
 * with h columns for each gate. Any strides, at least one element. An element
 * (b, j) of the state reads and writes only column j of every gate. An output
 * may therefore be exactly an input. */
#ifndef LIB_OP_RNN_RNN_H
#define LIB_OP_RNN_RNN_H

#include "lib/core/core.h"

/** gates may be a, c_out may be c. */
struct lstm_cell_op {
    struct op op;
    struct view a;        /* the sums of the gates, [batch, 4h] */
    struct view c;        /* optional; absent: 0; f32 */
    struct view y, c_out; /* the new state and cell state; c_out f32 */
    struct view gates;    /* optional: gates, as backward needs them */
};

/** da may be gates, dc_in may be dc. */
struct lstm_cell_backward_op {
    struct op op;
    struct view gates;      /* as the forward cell saved them */
    struct view c;          /* optional; absent: 0 */
    struct view c_out;      /* of the forward cell */
    struct view dy, dh, dc; /* optional; absent: 0; dy and dh are added */
    struct view da;         /* the gradient of a */
    struct view dc_in;      /* optional: the gradient of c */
};

/** gates may be u, y may be h. stage is one of kernels/rnn/rnn.h. GRU_RESET
 *  computes y = r h. It needs only u, v and h, and only the first gate of u and
 *  v. */
struct gru_cell_op {
    struct op op;
    uint32_t stage;
    uint32_t gap;
    struct view u, v;     /* matmuls of x and of the state, [batch, 3h] */
    struct view h;        /* the previous state; optional; absent: 0 */
    struct view y;        /* the new state */
    struct view gates, q; /* optional: values that backward needs */
};

/** du may be gates, dh_in may be dh. GRU_REST does not write the first gate of
 *  du and dv, and needs no q. GRU_RESET writes only that gate, and dh_in = dh +
 *  q r; its q is the gradient of r h. */
struct gru_cell_backward_op {
    struct op op;
    uint32_t stage;
    uint32_t gap;
    struct view gates;
    struct view q, h, dy, dh; /* optional; absent: 0 */
    struct view du, dv;
    struct view dh_in; /* optional */
};

/** The arguments of LSTM and GRU over a sequence. Tensors that a call does not
 *  have are NULL. */
struct rnn {
    const char *name;
    bool backward;
    int64_t parts; /* gates: h columns each */
    int64_t saved; /* parts of reserve: h columns each */
    const ssq_tensor *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0;
    const ssq_tensor *y, *hn, *cn, *reserve;
    const ssq_tensor *dy, *dhn, *dcn;
    const ssq_tensor *dx, *dw_ih, *dw_hh, *db_ih, *db_hh, *dh0, *dc0;
    bool reverse;
    bool reset_first;        /* GRU only */
    int64_t t, batch, in, h; /* set by rnn_check() */
    struct view reset; /* backward, with reset_first: [t, batch, h], r h', which
                          the last gate's part of w_hh was multiplied by */
};

/** Initialise the members that LSTM and GRU share, from the args A of a
 *  sequence or of its backward. */
#define RNN_FORWARD(A)                                                         \
    .x = (A)->x, .w_ih = (A)->w_ih, .w_hh = (A)->w_hh, .b_ih = (A)->b_ih,      \
    .b_hh = (A)->b_hh, .h0 = (A)->h0, .y = (A)->y, .hn = (A)->hn,              \
    .reserve = (A)->reserve, .reverse = (A)->reverse
#define RNN_BACKWARD(A)                                                        \
    .backward = true, .x = (A)->x, .w_ih = (A)->w_ih, .w_hh = (A)->w_hh,       \
    .h0 = (A)->h0, .y = (A)->y, .reserve = (A)->reserve, .dy = (A)->dy,        \
    .dhn = (A)->dhn, .dx = (A)->dx, .dw_ih = (A)->dw_ih, .dw_hh = (A)->dw_hh,  \
    .db_ih = (A)->db_ih, .db_hh = (A)->db_hh, .dh0 = (A)->dh0,                 \
    .reverse = (A)->reverse

/** Check everything and set the sizes. */
ssq_status rnn_check(const ssq_queue *queue, struct rnn *r);
/** Return true if no step has an element. */
bool rnn_empty(const struct rnn *r);
/** Run a call for which rnn_empty() is true. */
ssq_status rnn_run_empty(ssq_queue *queue, const struct rnn *r);

/** Return the place of step s in the t places of x and y. */
int64_t rnn_place(const struct rnn *r, int64_t s);
/** Return [t, batch, n] at one place, as [batch, n]; absent stays absent. */
struct view rnn_at(const struct view *v, int64_t place);
/** Return h before step s: it is in y, or is h0. */
struct view rnn_before(const struct rnn *r, int64_t s);
/** Return [t, batch, n] as [t * batch, n]. */
struct view rnn_rows(const struct view *v);
/** Return n places of [t, batch, ..], or n rows of a matrix, beginning at
 *  `from`. */
struct view rnn_places(const struct view *v, int64_t from, int64_t n);

/** d = op(a) op(b) + c + bias; c and bias may be absent. none: no matmul, d = c
 *  + bias, and only the shape of a is used. */
struct rnn_product {
    struct view a, b, c, bias, d;
    bool trans_a, trans_b, none;
};
ssq_status rnn_multiply(ssq_queue *queue, const struct rnn_product *p);
/** Compute x w_ih^T + b_ih of all steps into [t, batch, parts h]. */
ssq_status rnn_inputs(ssq_queue *queue, const struct rnn *r,
                      const struct view *gates);
/** Compute dx, dw_ih, dw_hh, db_ih and db_hh after the last step. du and dv are
 *  [t, batch, parts h], the gradients of the matmuls with w_ih and w_hh. work
 *  is from rnn_weight_scratch(). */
ssq_status rnn_finish(ssq_queue *queue, const struct rnn *r,
                      const struct view *du, const struct view *dv,
                      const struct view *work);
/** Get [parts h, h] in float32 if dw_hh has two terms; else *work is absent.
 *  Release it with scratch_put(). */
ssq_status rnn_weight_scratch(ssq_queue *queue, const struct rnn *r,
                              struct view *work);

#endif
