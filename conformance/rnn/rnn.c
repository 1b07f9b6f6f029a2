/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - cases of LSTM and GRU over a sequence, forward and backward. */
#include "conformance/case.h"
#include "conformance/rnn/rnn_case.h"

/* Few enough numbers to take a difference along each. */
static bool rnn_small(const struct rnn_entry *e)
{
    return !e->nan && e->t * e->batch * e->h * (e->in + e->h) < 150 &&
           e->t * e->batch * e->h > 0;
}

static bool rnn_run_entry(struct harness *b, const struct rnn_entry *e)
{
    struct rnn_operands o;
    rnn_make_inputs(b, e, &o);
    rnn_make_outputs(b, e, &o);
    struct rnn_problem p = rnn_problem_of(e, &o);
    struct rnn_forward f = rnn_forward(b, &p);
    struct rnn_backward g = rnn_backward(b, &p, &f);
    double gates = (e->gru ? 3.0 : 4.0) * (double)e->h;
    b->flops = 2.0 * (double)(e->t * e->batch * (e->in + e->h)) * gates;
    HARNESS_OP(b, rnn_run_forward(b, e, &o));
    if (!rnn_compare_forward(b, &p, &f, &o) || !e->reserve)
        return !b->failed;
    rnn_make_gradients(b, e, &o);
    HARNESS_OP(b, rnn_run_backward(b, e, &o));
    bool fresh;
    (void)harness_keep(b, 0, 1, &fresh);
    return rnn_compare_backward(b, &g, &o) &&
           (!fresh || harness_over(b) || !rnn_small(e) ||
            rnn_differentiable(b, &p, &g));
}

/* ---- the tables ---- */

#define DRAWN 130

static const char *const words[] = {
    "3 steps of 2x3 to 2, as torch",
    "5 steps of 3x7 to 6 has the bits of gemms and cells",
    "4 steps of 1x5 to 3, one of the sequences of wider tensors",
    "gradients that overflow f16 are seen in dx",
    "refuses wrong arguments",
    "no steps, hn in h0's place in another dtype",
    "3 steps of 2x3 to 2, reset first, as ONNX",
    "5 steps of 3x7 to 6, reset first, has the bits of gemms and cells",
};
#define WORDS_LSTM (COUNT(words) - 2)

static void rnn_describe(size_t i, bool gru, char *text, size_t bytes)
{
    struct rnn_entry e = rnn_entry_of(i, gru);
    if (i < DRAWN)
        rnn_entry_text(&e, text, bytes);
    else
        snprintf(text, bytes, "%s: %s", gru ? "gru" : "lstm", words[i - DRAWN]);
}

static bool rnn_run(struct harness *b, size_t i, bool gru)
{
    struct rnn_entry e = rnn_entry_of(i, gru);
    switch (i) {
    case DRAWN:
        return rnn_run_golden(b, gru);
    case DRAWN + 1:
        return rnn_run_composed(b, gru, false);
    case DRAWN + 2:
        return rnn_run_slice(b, gru);
    case DRAWN + 3:
        return rnn_run_overflow(b, gru);
    case DRAWN + 4:
        return rnn_run_refusals(b, gru);
    case DRAWN + 5:
        return rnn_run_no_steps(b, gru);
    case DRAWN + 6:
        return rnn_run_golden_onnx(b);
    case DRAWN + 7:
        return rnn_run_composed(b, gru, true);
    default:
        return rnn_run_entry(b, &e);
    }
}

static void rnn_describe_lstm(size_t i, char *text, size_t bytes)
{
    rnn_describe(i, false, text, bytes);
}

static bool rnn_run_lstm(struct harness *b, size_t i)
{
    return rnn_run(b, i, false);
}

extern const struct suite lstm_suite;
const struct suite lstm_suite = {.op = "lstm_cell",
                                 .name = "lstm",
                                 .n = DRAWN + WORDS_LSTM,
                                 .describe = rnn_describe_lstm,
                                 .run = rnn_run_lstm,
                                 .floor = 250};

static void rnn_describe_gru(size_t i, char *text, size_t bytes)
{
    rnn_describe(i, true, text, bytes);
}

static bool rnn_run_gru(struct harness *b, size_t i)
{
    return rnn_run(b, i, true);
}

extern const struct suite gru_suite;
const struct suite gru_suite = {.op = "gru_cell",
                                .name = "gru",
                                .n = DRAWN + COUNT(words),
                                .describe = rnn_describe_gru,
                                .run = rnn_run_gru,
                                .floor = 250};
