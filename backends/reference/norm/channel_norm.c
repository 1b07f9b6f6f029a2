/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.c - reference: batch norm and group norm.
 *
 * With the m elements of a set (channel_set.h):
 *
 *     mean = sum of x / m
 *     var  = sum of (x - mean)^2 / m
 *     rstd = 1 / sqrt(var + eps)
 *     y    = activation((x - mean) rstd gamma + beta)
 *
 *     running_mean = (1 - momentum) running_mean + momentum mean
 *     running_var  = (1 - momentum) running_var + momentum var m / (m - 1)
 *
 * Sums are float64. Each statistic is rounded to float32 before it is used, so
 * that backward gets the same bits from saved ones. y is computed in float32,
 * and storing rounds once more. */
#include "lib/op/norm/channel_merge.h"

#include "backends/reference/norm/channel_set.h"
#include "backends/reference/rows.h"
#include "kernels/gemm/epilogue.h"

#include <math.h>

/* rest is the part of the mean that rounding has removed. running is the
 * variance toward which the running one moves. */
struct channel_norm_statistics {
    float mean, rest, rstd, running;
};

/* Return the sum of x. */
static double channel_norm_total(const struct view *x)
{
    double sum = 0.0;
    struct walk w;
    walk_begin(&w, &x, 1);
    do {
        sum += (double)view_load(x, w.at[0]);
    } while (walk_next(&w));
    return sum;
}

/* Return the sum of (x - mean)^2 over m elements. The rounded mean is
 * subtracted first, because E[x^2] - E[x]^2 would cancel. The sum of the
 * deviations then corrects the rounding of the mean. */
static double channel_norm_squares(const struct view *x, float mean, double m)
{
    double squares = 0.0, deviations = 0.0;
    struct walk w;
    walk_begin(&w, &x, 1);
    do {
        double d = (double)view_load(x, w.at[0]) - (double)mean;
        deviations += d;
        squares += d * d;
    } while (walk_next(&w));
    return squares_about_mean(squares, deviations, m);
}

/* Return the statistics of x. */
static struct channel_norm_statistics
channel_norm_compute(const struct channel_norm_op *op, const struct view *x)
{
    double m = (double)view_elements(x);
    double mean = channel_norm_total(x) / m;
    struct channel_norm_statistics s = {.mean = (float)mean};
    if (isfinite(mean) && isfinite(s.mean))
        s.rest = (float)(mean - (double)s.mean);
    double squares = channel_norm_squares(x, s.mean, m);
    s.rstd = s_rsqrt((float)(squares / m) + op->eps);
    s.running = (float)(squares / (op->population ? m : m - 1.0));
    return s;
}

/* Move a running statistic of channel c toward x, unless it is absent. */
static void channel_norm_move(const struct channel_norm_op *op,
                              const struct view *running, int64_t c, float x)
{
    float before = parameter_load(running, c, 0.0f);
    parameter_store(running, c, merge_moved(op->keep, before, op->momentum, x));
}

/* Return the statistics of a set of the batch, and move the running ones. If
 * the batch is in parts, op->found has the statistics of all parts, to be
 * merged. If these have no elements, the running ones do not move. */
static struct channel_norm_statistics
channel_norm_of_batch(const struct channel_norm_op *op,
                      const struct channel_set *set)
{
    struct channel_norm_statistics s;
    bool moves = true;
    if (op->found.buffer != NULL) {
        const struct channel_merged merged = channel_merge(op, set->group);
        s = (struct channel_norm_statistics){.mean = merged.mean,
                                             .rstd = merged.rstd,
                                             .running = merged.running};
        moves = merged.some;
    } else {
        const struct view x = channel_set_view(&op->x, set);
        s = channel_norm_compute(op, &x);
        parameter_store(&op->rest, set->group, s.rest);
    }
    if (moves) {
        channel_norm_move(op, &op->running_mean, set->group, s.mean);
        channel_norm_move(op, &op->running_var, set->group, s.running);
    }
    return s;
}

/* Return the running statistics of channel c. */
static struct channel_norm_statistics
channel_norm_running(const struct channel_norm_op *op, int64_t c)
{
    float var = parameter_load(&op->running_var, c, 0.0f);
    return (struct channel_norm_statistics){
        .mean = parameter_load(&op->running_mean, c, 0.0f),
        .rstd = s_rsqrt(var + op->eps)};
}

/* Compute y of channel c of a set. An absent gamma or beta is omitted, and not
 * replaced by 1 or 0: adding 0 would change -0 to 0. */
static void channel_norm_normalise(const struct channel_norm_op *op,
                                   const struct channel_set *set, int64_t c,
                                   const struct channel_norm_statistics *s)
{
    const struct channel_set channel = channel_of_set(set, c);
    const struct view x = channel_set_view(&op->x, &channel);
    const struct view y = channel_set_view(&op->y, &channel);
    const float gamma = parameter_load(&op->gamma, c, 1.0f);
    const float beta = parameter_load(&op->beta, c, 0.0f);
    struct walk w;
    walk_begin(&w, (const struct view *[]){&x, &y}, 2);
    do {
        float z = (view_load(&x, w.at[0]) - s->mean) * s->rstd;
        if (op->gamma.buffer != NULL)
            z = z * gamma;
        if (op->beta.buffer != NULL)
            z = z + beta;
        view_store(&y, w.at[1], activate(z, op->activation));
    } while (walk_next(&w));
}

/* Compute the statistics and y of a set. */
static void channel_norm_set(const struct channel_norm_op *op,
                             const struct channel_set *set)
{
    const struct channel_norm_statistics s =
        op->given ? channel_norm_running(op, set->group)
                  : channel_norm_of_batch(op, set);
    statistic_store(&op->mean, set, s.mean);
    statistic_store(&op->rstd, set, s.rstd);
    if (op->y.buffer == NULL)
        return;
    for (int64_t c = set->c0; c < set->c0 + set->c; c++)
        channel_norm_normalise(op, set, c, &s);
}

static ssq_status reference_channel_norm_run(struct backend_queue *queue,
                                             const struct channel_norm_op *op)
{
    (void)queue;
    for (int64_t i = 0; i < channel_set_examples(op->pooled, &op->x); i++)
        for (int64_t g = 0; g < op->groups; g++) {
            const struct channel_set set =
                channel_set_of(op->pooled, &op->x, op->groups, i, g);
            channel_norm_set(op, &set);
        }
    return SSQ_OK;
}

REFERENCE_IMPL(channel_norm);
