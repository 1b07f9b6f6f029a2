/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_case.h - LSTM and GRU over a sequence as test cases. */
#ifndef CONFORMANCE_RNN_RNN_CASE_H
#define CONFORMANCE_RNN_RNN_CASE_H

#include "conformance/rnn/rnn.h"

/** One choice of every factor. */
struct rnn_entry {
    bool gru, reverse, reset_first;
    int64_t t, batch, in, h;
    size_t format; /* 0: all f32, 1: all f16, .. */
    bool bias, h0, c0, dy, dhn, dcn;
    bool reserve;     /* else forward only */
    bool last, over;  /* hn and cn; over h0 and c0: forward only */
    unsigned outputs; /* dx dw_ih dw_hh db_ih db_hh dh0 dc0 */
    enum layout layout;
    bool nan; /* one element of x */
};

struct rnn_operands {
    struct operand x, w_ih, w_hh, b_ih, b_hh, h0, c0, y, hn, cn, reserve;
    struct operand dy, dhn, dcn, dx, dw_ih, dw_hh, db_ih, db_hh, dh0, dc0;
};

/* Shapes of a sequence's operands. */
struct rnn_shapes {
    int64_t x[3], y[3], reserve[3], w_ih[2], w_hh[2], bias[1], state[2];
};

/** The drawn cases. */
struct rnn_entry rnn_entry_of(size_t i, bool gru);
void rnn_entry_text(const struct rnn_entry *e, char *text, size_t bytes);

struct rnn_shapes rnn_shapes_of(const struct rnn_entry *e);
/** The operands that an entry names; the rest is absent. */
void rnn_make_inputs(struct harness *b, const struct rnn_entry *e,
                     struct rnn_operands *o);
void rnn_make_outputs(struct harness *b, const struct rnn_entry *e,
                      struct rnn_operands *o);
void rnn_make_gradients(struct harness *b, const struct rnn_entry *e,
                        struct rnn_operands *o);
/** The calls. */
ssq_status rnn_run_forward(struct harness *b, const struct rnn_entry *e,
                           const struct rnn_operands *o);
ssq_status rnn_run_backward(struct harness *b, const struct rnn_entry *e,
                            const struct rnn_operands *o);

struct rnn_problem rnn_problem_of(const struct rnn_entry *e,
                                  const struct rnn_operands *o);
/** Every output that exists against the oracle. */
bool rnn_compare_forward(struct harness *b, const struct rnn_problem *p,
                         const struct rnn_forward *f, struct rnn_operands *o);
bool rnn_compare_backward(struct harness *b, const struct rnn_backward *g,
                          struct rnn_operands *o);

/** Cases of rnn_edges.c. */
bool rnn_run_golden(struct harness *b, bool gru);
bool rnn_run_golden_onnx(struct harness *b);
bool rnn_run_composed(struct harness *b, bool gru, bool reset_first);
bool rnn_run_slice(struct harness *b, bool gru);
bool rnn_run_overflow(struct harness *b, bool gru);
bool rnn_run_no_steps(struct harness *b, bool gru);
bool rnn_run_refusals(struct harness *b, bool gru);

#endif
