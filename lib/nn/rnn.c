/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - recurrent layers. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

#include <math.h>

/* The number of gates of an LSTM; a GRU has 3. */
#define GATES 4

/* The parameters of a layer. */
struct rnn_weights {
    ssq_var ih, hh, b_ih, b_hh;
};

static const ssq_nn_rnn_args defaults = SSQ_NN_RNN_INIT;

/* Check the arguments. False: the error is latched. */
static bool rnn_begin(const struct layer *l, ssq_var x, int64_t hidden,
                      const ssq_nn_rnn_args *o)
{
    if (!layer_begin(l, x, o, sizeof(*o)))
        return false;
    int rank = ssq_var_rank(x);
    if (rank == 3 && hidden >= 1 && hidden <= INT64_MAX / GATES)
        return true;
    latch(l->tape,
          rank != 3
              ? error_set(SSQ_ERR_INVALID, "x has rank %d, expected 3", rank)
              : error_set(SSQ_ERR_INVALID, "hidden is %lld, expected 1 to %lld",
                          (long long)hidden, (long long)(INT64_MAX / GATES)),
          l->where, l->kind);
    return false;
}

/* Create the parameters of a layer with this number of gates. */
static struct rnn_weights rnn_make(const struct layer *l, ssq_var x,
                                   int64_t hidden, int64_t gates, bool bias)
{
    const ssq_begin given = SSQ_BEGIN_LAYER,
                    uniform = init_bias((double)hidden);
    const int64_t rows = gates * hidden;
    const int64_t ih[] = {rows, ssq_var_size(x, 2)}, hh[] = {rows, hidden};
    struct rnn_weights w = {.b_ih = SSQ_VAR_NONE, .b_hh = SSQ_VAR_NONE};
    w.ih = layer_param(l, "weight_ih", 2, ih, &given, &uniform);
    w.hh = layer_param(l, "weight_hh", 2, hh, &given, &uniform);
    if (bias) {
        w.b_ih = layer_param(l, "bias_ih", 1, &rows, &given, &uniform);
        w.b_hh = layer_param(l, "bias_hh", 1, &rows, &given, &uniform);
    }
    return w;
}

static void none(ssq_var *v, ssq_tape *t)
{
    if (v != NULL)
        *v = var_inert(t);
}

ssq_var ssq_nn_lstm_at(const char *where, ssq_tape *tape, const char *name,
                       ssq_var x, int64_t hidden, ssq_var h0, ssq_var c0,
                       ssq_var *hn, ssq_var *cn, const ssq_nn_rnn_args *options)
{
    const struct layer l = {where, name, "nn_lstm", tape};
    const ssq_nn_rnn_args *o = options == NULL ? &defaults : options;
    none(hn, tape);
    none(cn, tape);
    if (!rnn_begin(&l, x, hidden, o))
        return var_inert(tape);
    struct rnn_weights w = rnn_make(&l, x, hidden, 4, o->bias);
    return ssq_lstm_var_at(where, x, w.ih, w.hh, w.b_ih, w.b_hh, h0, c0, hn, cn,
                           SSQ_LSTM(.reverse = o->reverse));
}

ssq_var ssq_nn_gru_at(const char *where, ssq_tape *tape, const char *name,
                      ssq_var x, int64_t hidden, ssq_var h0, ssq_var *hn,
                      const ssq_nn_rnn_args *options)
{
    const struct layer l = {where, name, "nn_gru", tape};
    const ssq_nn_rnn_args *o = options == NULL ? &defaults : options;
    none(hn, tape);
    if (!rnn_begin(&l, x, hidden, o))
        return var_inert(tape);
    struct rnn_weights w = rnn_make(&l, x, hidden, 3, o->bias);
    return ssq_gru_var_at(
        where, x, w.ih, w.hh, w.b_ih, w.b_hh, h0, hn,
        SSQ_GRU(.reverse = o->reverse, .reset_first = o->reset_first));
}
