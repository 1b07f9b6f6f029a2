/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - LSTM and GRU: what backends get, and what the sequences share.
 *
 * The views of a cell are matrices: [batch, h], or [batch, 4h] and [batch, 3h]
 * with h columns for each gate. Any strides, at least one element. An element
 * (b, j) of the state reads and writes column j of every gate only, so that an
 * output may be an input of its place. */
#ifndef LIB_OP_RNN_RNN_H
#define LIB_OP_RNN_RNN_H

#include "lib/core/core.h"

/** gates may be a, c_out may be c. */
struct lstm_cell_op {
    struct op op;
    struct view a;        /* the sums of the gates, [batch, 4h] */
    struct view c;        /* optional: else 0; f32 */
    struct view y, c_out; /* the new state and cell state; c_out f32 */
    struct view gates;    /* optional: what backward needs of the gates */
};

/** da may be gates, dc_in may be dc. */
struct lstm_cell_backward_op {
    struct op op;
    struct view gates;      /* as the forward cell has saved them */
    struct view c;          /* optional: else 0 */
    struct view c_out;      /* of the forward cell */
    struct view dy, dh, dc; /* optional: else 0; dy and dh are added */
    struct view da;         /* the gradient of a */
    struct view dc_in;      /* optional: the gradient of c */
};

/** gates may be u, y may be h. stage is one of kernels/rnn/rnn.h: GRU_RESET
 * makes y = r h and needs u, v and h only, and of their gates the first. */
struct gru_cell_op {
    struct op op;
    uint32_t stage;
    uint32_t gap;
    struct view u, v;     /* products of x and of the state, [batch, 3h] */
    struct view h;        /* the state before; optional: else 0 */
    struct view y;        /* the new state */
    struct view gates, q; /* optional: what backward needs */
};

/** du may be gates, dh_in may be dh. GRU_REST leaves the first gate of du and
 * dv alone and needs no q; GRU_RESET, for which q is the gradient of r h,
 * writes that gate only, and dh_in = dh + q r. */
struct gru_cell_backward_op {
    struct op op;
    uint32_t stage;
    uint32_t gap;
    struct view gates;
    struct view q, h, dy, dh; /* optional: else 0 */
    struct view du, dv;
    struct view dh_in; /* optional */
};

/** A whole sequence: what LSTM and GRU have in common. Tensors that a call does
 *  not have are NULL. */
struct rnn {
    const char *name;
    bool backward;
    int64_t parts; /* gates: h columns each */
    int64_t saved; /* of reserve, likewise */
    const ssq_tensor *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0;
    const ssq_tensor *y, *hn, *cn, *reserve;
    const ssq_tensor *dy, *dhn, *dcn;
    const ssq_tensor *dx, *dw_ih, *dw_hh, *db_ih, *db_hh, *dh0, *dc0;
    bool reverse;
    bool reset_first;        /* of a GRU */
    int64_t t, batch, in, h; /* rnn_check finds them */
    struct view reset; /* backward, with reset_first: [t, batch, h], what the
                          last gate's part of w_hh was multiplied by */
};

/** What LSTM and GRU say alike, of any args A of a sequence; and of its
 *  backward. */
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

/** Check everything and find the sizes. */
ssq_status rnn_check(const ssq_queue *queue, struct rnn *r);
/** No step has an element. */
bool rnn_empty(const struct rnn *r);
/** What such a call still has to do. */
ssq_status rnn_run_empty(ssq_queue *queue, const struct rnn *r);

/** Which of the t places of x step s takes; and of y the step before. */
int64_t rnn_place(const struct rnn *r, int64_t s);
/** [t, batch, n] at one place: [batch, n]; absent stays absent. */
struct view rnn_at(const struct view *v, int64_t place);
/** h of the step before step s: in y, or h0. */
struct view rnn_before(const struct rnn *r, int64_t s);
/** [t, batch, n] as [t * batch, n]. */
struct view rnn_rows(const struct view *v);
/** n places of [t, batch, ..], or n rows of a matrix, from one on. */
struct view rnn_places(const struct view *v, int64_t from, int64_t n);

/** d = op(a) op(b) + c + bias; c and bias may be absent. none: no product,
 *  d = c + bias, and a only has its shape. */
struct rnn_product {
    struct view a, b, c, bias, d;
    bool trans_a, trans_b, none;
};
ssq_status rnn_multiply(ssq_queue *queue, const struct rnn_product *p);
/** All of x w_ih^T + b_ih into [t, batch, parts h]. */
ssq_status rnn_inputs(ssq_queue *queue, const struct rnn *r,
                      const struct view *gates);
/** What follows the last step: dx, dw_ih, dw_hh, db_ih, db_hh. du and dv are
 *  [t, batch, parts h], the gradients of the products with w_ih and w_hh.
 *  work: rnn_weight_scratch's. */
ssq_status rnn_finish(ssq_queue *queue, const struct rnn *r,
                      const struct view *du, const struct view *dv,
                      const struct view *work);
/** [parts h, h] in float32 if dw_hh has two terms, else absent. */
ssq_status rnn_weight_scratch(ssq_queue *queue, const struct rnn *r,
                              struct view *work);

#endif
