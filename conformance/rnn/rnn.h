/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - LSTM and GRU in float64 with running errors: the oracle of cells and
 * sequences, and what their tables share. */
#ifndef CONFORMANCE_RNN_RNN_H
#define CONFORMANCE_RNN_RNN_H

#include "conformance/bounds_rnn.h"
#include "conformance/suite.h"

#define GATES 4 /* at most: i f g o, or r z n */

/** One element of an LSTM step: from a to the gates, c_out and y. */
struct lstm_element {
    struct num gate[GATES], c_out, y;
};
struct lstm_element lstm_element(const struct num *a, struct num c);
/** Its gradient: e of y, dc of c_out. */
struct lstm_slope {
    struct num da[GATES], dc_in;
};
struct lstm_slope lstm_slope(const struct num *gate, struct num c,
                             struct num c_out, struct num e, struct num dc);

struct gru_element {
    struct num gate[3], y;
};
/** reset_first: v[2] is made of r h already. */
struct gru_element gru_element(const struct num *u, const struct num *v,
                               struct num h, bool reset_first);
struct gru_slope {
    struct num du[3], dv[3], dh_in;
};
/** reset_first: without du[0] and dv[0], which are 0. */
struct gru_slope gru_slope(const struct num *gate, struct num q, struct num h,
                           struct num e, bool reset_first);
/** r h, and du[0] = dv[0] from its gradient d. */
struct num gru_reset(struct num u, struct num v, struct num h);
struct num gru_reset_slope(struct num r, struct num h, struct num d);

/** A sequence; values are dense. An absent operand is NULL: 0. */
struct rnn_problem {
    bool gru, reverse, reset_first;
    int64_t t, batch, in, h;
    ssq_dtype dtype; /* of y and of the gradients of the gates */
    double block;    /* of bound_gemm: 0, or matrix units may multiply */
    const double *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0;
    const double *dy, *dhn, *dcn;
};

/** Every number is allocated with harness_alloc by the call that computes it.
 */
struct rnn_forward {
    struct num *gates; /* [t, batch, parts h] */
    struct num *q;     /* GRU: [t, batch, h] */
    struct num *reset; /* also: r h, as stored; with reset_first */
    struct num *c;     /* LSTM: [t, batch, h] */
    struct num *y;     /* [t, batch, h], as stored */
    struct num *exact; /* also before the store */
};
struct rnn_backward {
    struct num *dx, *dw_ih, *dw_hh, *db_ih, *db_hh, *dh0, *dc0;
};
int64_t rnn_parts(const struct rnn_problem *p);
struct rnn_forward rnn_forward(struct harness *b, const struct rnn_problem *p);
struct rnn_backward rnn_backward(struct harness *b, const struct rnn_problem *p,
                                 const struct rnn_forward *f);
/** h and c after all steps: NULL where there was no step and no h0. */
const struct num *rnn_last_h(const struct rnn_problem *p,
                             const struct rnn_forward *f);

/** The oracle's gradients against central differences of its values. */
bool rnn_differentiable(struct harness *b, const struct rnn_problem *p,
                        const struct rnn_backward *g);

/** Read y and compare it with n numbers, which are zeros if NULL. */
bool rnn_compare(struct harness *b, struct operand *y, const struct num *want);

#endif
