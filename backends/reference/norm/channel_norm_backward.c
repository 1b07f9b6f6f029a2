/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm_backward.c - reference: gradients of batch norm and group norm.
 *
 * With z = (x - mean) rstd, g = dy gamma, and averages over a set
 * (channel_set.h):
 *
 *     dgamma = sum of dy z, dbeta = sum of dy      over a channel
 *     dx = rstd (g - avg(g) - z avg(g z))
 *     dx = rstd g                                  if statistics are given
 *
 * Sums are float64 and rounded once. Everything else is float32, and storing
 * rounds once more. */
#include "lib/op/norm/channel_norm.h"

#include "backends/reference/norm/channel_set.h"

/* The sums of g and of g z. */
struct channel_norm_sums {
    double g, g_z;
};

/* Add the sums of one channel of a set to *total. For the gradients of the
 * parameters gamma is 1. */
static void channel_norm_add(const struct channel_norm_backward_op *op,
                             const struct channel_set *channel, float gamma,
                             struct channel_norm_sums *total)
{
    const struct view x = channel_set_view(&op->x, channel);
    const struct view dy = channel_set_view(&op->dy, channel);
    const float mean = statistic_load(&op->mean, channel);
    const float rstd = statistic_load(&op->rstd, channel);
    struct channel_norm_sums sum = {0.0, 0.0};
    struct walk w;
    walk_begin(&w, (const struct view *[]){&x, &dy}, 2);
    do {
        float z = (view_load(&x, w.at[0]) - mean) * rstd;
        float g = view_load(&dy, w.at[1]) * gamma;
        sum.g += (double)g;
        sum.g_z += (double)g * (double)z;
    } while (walk_next(&w));
    total->g += sum.g;
    total->g_z += sum.g_z;
}

/* Compute dgamma and dbeta of channel c, from all sets that contain it. */
static void channel_norm_parameters(const struct channel_norm_backward_op *op,
                                    int64_t c)
{
    const int64_t group = c / (op->x.shape[1] / op->groups);
    struct channel_norm_sums sum = {0.0, 0.0};
    for (int64_t i = 0; i < channel_set_examples(op->pooled, &op->x); i++) {
        const struct channel_set set =
            channel_set_of(op->pooled, &op->x, op->groups, i, group);
        const struct channel_set channel = channel_of_set(&set, c);
        channel_norm_add(op, &channel, 1.0f, &sum);
    }
    parameter_store(&op->dgamma, c, (float)sum.g_z);
    parameter_store(&op->dbeta, c, (float)sum.g);
}

/* The averages of g and of g z over a set. */
struct channel_norm_averages {
    float g, g_z;
};

/* Return the averages over a set. */
static struct channel_norm_averages
channel_norm_average(const struct channel_norm_backward_op *op,
                     const struct channel_set *set)
{
    struct channel_norm_sums sum = {0.0, 0.0};
    for (int64_t c = set->c0; c < set->c0 + set->c; c++) {
        const struct channel_set channel = channel_of_set(set, c);
        channel_norm_add(op, &channel, parameter_load(&op->gamma, c, 1.0f),
                         &sum);
    }
    const struct view x = channel_set_view(&op->x, set);
    const double m = (double)view_elements(&x);
    return (struct channel_norm_averages){(float)(sum.g / m),
                                          (float)(sum.g_z / m)};
}

/* Return the averages over a batch in parts. op->average contains averages of
 * dy and of dy z, for channel c over all parts. */
static struct channel_norm_averages
channel_norm_average_of_parts(const struct channel_norm_backward_op *op,
                              int64_t c)
{
    const struct view *v = &op->average;
    const float gamma = parameter_load(&op->gamma, c, 1.0f);
    return (struct channel_norm_averages){
        gamma * view_load(v, c * v->stride[1]),
        gamma * view_load(v, v->stride[0] + c * v->stride[1])};
}

/* Compute dx of channel c of a set. */
static void channel_norm_dx(const struct channel_norm_backward_op *op,
                            const struct channel_set *set, int64_t c,
                            struct channel_norm_averages avg)
{
    const struct channel_set channel = channel_of_set(set, c);
    const struct view x = channel_set_view(&op->x, &channel);
    const struct view dy = channel_set_view(&op->dy, &channel);
    const struct view dx = channel_set_view(&op->dx, &channel);
    const float mean = statistic_load(&op->mean, set);
    const float rstd = statistic_load(&op->rstd, set);
    const float gamma = parameter_load(&op->gamma, c, 1.0f);
    struct walk w;
    walk_begin(&w, (const struct view *[]){&x, &dy, &dx}, 3);
    do {
        float z = (view_load(&x, w.at[0]) - mean) * rstd;
        float g = view_load(&dy, w.at[1]) * gamma;
        view_store(&dx, w.at[2],
                   op->given ? rstd * g : rstd * ((g - avg.g) - z * avg.g_z));
    } while (walk_next(&w));
}

/* Compute dx of a set. Its averages are computed first, because dx may be x or
 * dy. */
static void channel_norm_backward_set(const struct channel_norm_backward_op *op,
                                      const struct channel_set *set)
{
    struct channel_norm_averages avg = {0.0f, 0.0f};
    if (op->average.buffer != NULL)
        avg = channel_norm_average_of_parts(op, set->group);
    else if (!op->given)
        avg = channel_norm_average(op, set);
    for (int64_t c = set->c0; c < set->c0 + set->c; c++)
        channel_norm_dx(op, set, c, avg);
}

/* Compute dgamma and dbeta before dx, because dx may be x or dy. */
static ssq_status
reference_channel_norm_backward_run(struct backend_queue *queue,
                                    const struct channel_norm_backward_op *op)
{
    (void)queue;
    if (op->dgamma.buffer != NULL || op->dbeta.buffer != NULL)
        for (int64_t c = 0; c < op->x.shape[1]; c++)
            channel_norm_parameters(op, c);
    if (op->dx.buffer == NULL)
        return SSQ_OK;
    for (int64_t i = 0; i < channel_set_examples(op->pooled, &op->x); i++)
        for (int64_t g = 0; g < op->groups; g++) {
            const struct channel_set set =
                channel_set_of(op->pooled, &op->x, op->groups, i, g);
            channel_norm_backward_set(op, &set);
        }
    return SSQ_OK;
}

REFERENCE_IMPL(channel_norm_backward);
