/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - actions on metrics: weighted means that are kept on the device.
 */

#include <math.h>

#include "tests/fuzz/action.h"

static ssq_metric *metric_of(struct objects *o, unsigned side,
                             const struct fuzz_choice *k)
{
    return o->metric[k->slot][side];
}

static ssq_status create(struct objects *o, unsigned side,
                         const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_metric_destroy(&o->metric[k->slot][side]);
    return ssq_metric_create(o->pair->device[side], &o->metric[k->slot][side]);
}

static ssq_status destroy(struct objects *o, unsigned side,
                          const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_metric_destroy(&o->metric[k->slot][side]);
    return SSQ_OK;
}

static void choose_value(struct objects *o, struct fuzz_choice *k)
{
    static const double weights[] = {1.0,  0.0,   3.0, 0.5,      -1.0,
                                     1e39, 1e-46, NAN, INFINITY, 16777217.0};
    k->value = choose_double(o, weights, sizeof(weights) / sizeof(weights[0]));
    if (input_once(o->in, 4))
        choose_shape(o, k);
    choose_tensor(o, k, 0, choose_float(o), false);
}

static ssq_status add(struct objects *o, unsigned side,
                      const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_metric_add(o->pair->queue[side], metric_of(o, side, k),
                          k->tensor[0][side], k->value);
}

/* Logits, and labels of their rows; now and then of another shape. */
static void choose_labels(struct objects *o, struct fuzz_choice *k)
{
    k->count = input_below(o->in, 6);
    k->rank = 2;
    k->shape[0] = input_below(o->in, 8);
    k->shape[1] = input_below(o->in, 8);
    choose_tensor(o, k, 0, choose_float(o), false);
    k->rank = 1;
    if (input_once(o->in, 8))
        choose_shape(o, k);
    choose_tensor(o, k, 1, SSQ_I32, false);
}

static ssq_status add_accuracy(struct objects *o, unsigned side,
                               const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_metric_add_accuracy(o->pair->queue[side], metric_of(o, side, k),
                                   k->tensor[0][side], k->tensor[1][side],
                                   k->count);
}

static ssq_status reset(struct objects *o, unsigned side,
                        const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_metric_reset(o->pair->queue[side], metric_of(o, side, k));
}

/* How much has arrived depends on the device. */
static ssq_status poll(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    double mean, weight;
    (void)g;
    return ssq_metric_poll(metric_of(o, side, k), &mean, &weight);
}

/* A NaN is one number here: its sign and its payload are the processor's. */
static ssq_status read_mean(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    double mean = 0.0, weight = 0.0;
    ssq_status st = ssq_metric_read(o->pair->queue[side], metric_of(o, side, k),
                                    &mean, &weight);
    got_number(g, isnan(mean) ? (double)NAN : mean);
    got_number(g, isnan(weight) ? (double)NAN : weight);
    return st;
}

const struct action metric_actions[] = {
    {"metric_create", NULL, create, false},
    {"metric_add", choose_value, add, false},
    {"metric_add_accuracy", choose_labels, add_accuracy, false},
    {"metric_read", NULL, read_mean, false},
    {"metric_poll", NULL, poll, false},
    {"metric_reset", NULL, reset, false},
    {"metric_destroy", NULL, destroy, false},
};
const size_t metric_actions_count =
    sizeof(metric_actions) / sizeof(metric_actions[0]);
