/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - batch norm: a task has a channel of the whole batch and goes over it
 * as often as it has to, while it is near.
 *
 * Channels that are last, or few, are left to the plan, which divides them. */
#include "backends/cpu/norm/norm.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/norm_kernels.h"
#include "kernels/norm/deviations.h"
#include "lib/core/base/size.h"
#include "lib/op/norm/channel_merge.h"

/* Fewer channels keep too few threads busy, unless they are short. */
#define LEAST_CHANNELS 8
#define SHORT_CHANNEL  (INT64_C(1) << 14)
/* Elements that are not worth another thread: its waking takes longer. */
#define FEW (INT64_C(1) << 13)

ISA_KERNELS(norm_kernels)

/* ---- operands ---- */

/* Batch and spatial dimensions, as lines of which one follows the other at the
 * same distance; false if they do not lie so. */
static bool lines_of(const struct view *v, int64_t *line, int64_t *apart)
{
    int64_t next = 1;
    *line = 1;
    *apart = v->stride[0];
    for (int i = v->rank - 1; i >= 2; i--) {
        if (v->shape[i] != 1 && v->stride[i] != next)
            return false;
        next *= v->shape[i];
    }
    *line = next;
    return true;
}

static bool check_view(const struct view *v, const char *name, struct why *why)
{
    int64_t line, apart;
    if (v->buffer == NULL)
        return true;
    if (!lines_of(v, &line, &apart) || line > UINT32_MAX / 2)
        return refuse(why, "a channel's elements of %s are not adjacent", name);
    return true;
}

static bool norm_check_channels(const struct view *x, bool pooled,
                                struct why *why)
{
    int64_t elements = (int64_t)view_elements(x) / x->shape[1];
    if (!pooled)
        return refuse(why, "statistics are of an example, not of the batch");
    if (x->shape[1] > UINT32_MAX)
        return refuse(why, "%lld channels are too many tasks",
                      (long long)x->shape[1]);
    if (x->shape[1] < LEAST_CHANNELS && elements > SHORT_CHANNEL)
        return refuse(
            why, "%lld channels of %lld elements, expected %d or more",
            (long long)x->shape[1], (long long)elements, LEAST_CHANNELS);
    return check_view(x, "x", why);
}

static struct norm_lines channel_of(const struct view *v, int64_t c)
{
    int64_t line, apart;
    struct norm_lines l = {.dtype = v->dtype};
    if (v->buffer == NULL || !lines_of(v, &line, &apart))
        return l;
    l.apart = apart;
    l.data =
        (char *)view_host(v) + c * v->stride[1] * (v->dtype == SSQ_F32 ? 4 : 2);
    return l;
}

/* Element c of a vector, or what represents it where there is none. */
static float *at(const struct view *v, int i, int64_t c)
{
    return v->buffer == NULL ? NULL : (float *)view_host(v) + c * v->stride[i];
}

static float norm_value(const struct view *v, int i, int64_t c, float otherwise)
{
    return v->buffer == NULL ? otherwise : *at(v, i, c);
}

static struct norm_channel norm_shape_of(const struct view *x)
{
    struct norm_channel c = {.lines = x->shape[0]};
    int64_t line = 1, apart;
    (void)lines_of(x, &line, &apart);
    c.line = (uint32_t)line;
    return c;
}

static void for_channels(struct backend_queue *queue, const struct view *x,
                         team_task task, void *context)
{
    uint32_t n = (uint32_t)x->shape[1];
    if ((int64_t)view_elements(x) >= FEW) {
        parallel_for(queue->device->team, n, task, context);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        task(context, i, 0);
}

/* ---- forward ---- */

struct norm_forward {
    const struct channel_norm_op *op;
    const struct norm_kernels *kernels;
};

/* The running statistics move toward a channel's, whose squares sum up to
 * `squares`. */
static void move_running(const struct channel_norm_op *op, int64_t channel,
                         float mean, float squares, float count)
{
    float *m = at(&op->running_mean, 0, channel);
    float *v = at(&op->running_var, 0, channel);
    if (m == NULL)
        return;
    float variance = s_div(squares, op->population ? count : count - 1.0f);
    *m = op->keep * *m + op->momentum * mean;
    *v = op->keep * *v + op->momentum * variance;
}

/* Merge the statistics of all parts. */
static void merge_statistics(const struct channel_norm_op *op, int64_t channel,
                             struct norm_channel *c)
{
    const struct channel_merged all = channel_merge(op, channel);
    float *m = at(&op->running_mean, 0, channel);
    float *v = at(&op->running_var, 0, channel);
    c->mean = all.mean;
    c->rstd = all.rstd;
    if (m == NULL || !all.some)
        return;
    *m = merge_moved(op->keep, *m, op->momentum, all.mean);
    *v = merge_moved(op->keep, *v, op->momentum, all.running);
}

static void find_statistics(const struct norm_forward *f, int64_t channel,
                            const struct norm_lines *x, struct norm_channel *c)
{
    const struct channel_norm_op *op = f->op;
    float count = (float)(c->lines * c->line);
    if (op->given) {
        c->mean = *at(&op->running_mean, 0, channel);
        c->rstd = s_rsqrt(*at(&op->running_var, 0, channel) + op->eps);
        return;
    }
    if (op->found.buffer != NULL) {
        merge_statistics(op, channel, c);
        return;
    }
    float sums[2];
    c->mean = s_div(f->kernels->sum(c, x), count);
    f->kernels->deviations(c, x, sums);
    float apart = s_div(sums[0], count);
    float squares = deviations_squares(sums[1], sums[0], apart);
    float first = c->mean;
    c->mean = deviations_mean(first, apart);
    if (op->rest.buffer != NULL)
        *at(&op->rest, 0, channel) = deviations_rest(first, apart, c->mean);
    c->rstd = s_rsqrt(s_div(squares, count) + op->eps);
    move_running(op, channel, c->mean, squares, count);
}

static void norm_normalise(void *context, uint32_t i, uint32_t worker)
{
    const struct norm_forward *f = context;
    const struct channel_norm_op *op = f->op;
    struct norm_channel c = norm_shape_of(&op->x);
    struct norm_lines x = channel_of(&op->x, i), y = channel_of(&op->y, i);
    (void)worker;
    find_statistics(f, i, &x, &c);
    if (op->mean.buffer != NULL)
        *at(&op->mean, 1, i) = c.mean;
    if (op->rstd.buffer != NULL)
        *at(&op->rstd, 1, i) = c.rstd;
    c.gamma = norm_value(&op->gamma, 0, i, 1.0f);
    c.beta = norm_value(&op->beta, 0, i, 0.0f);
    c.activation = op->activation;
    if (y.data != NULL)
        f->kernels->apply(&c, &x, &y);
}

static bool norm_check_forward(const struct backend_device *d,
                               const struct channel_norm_op *op,
                               struct why *why)
{
    (void)d;
    return norm_check_channels(&op->x, op->pooled, why) &&
           check_view(&op->y, "y", why);
}

static ssq_status norm_run_forward(struct backend_queue *queue,
                                   const struct channel_norm_op *op)
{
    struct norm_forward f = {op, kernels_of(queue->device->isa)};
    for_channels(queue, &op->x, norm_normalise, &f);
    return SSQ_OK;
}

const struct channel_norm_impl cpu_channel_norm[] = {
    {.name = "channels", .check = norm_check_forward, .run = norm_run_forward},
    {.name = NULL},
};

/* ---- backward ---- */

struct norm_backward {
    const struct channel_norm_backward_op *op;
    const struct norm_kernels *kernels;
};

static void differentiate(void *context, uint32_t i, uint32_t worker)
{
    const struct norm_backward *b = context;
    const struct channel_norm_backward_op *op = b->op;
    struct norm_channel c = norm_shape_of(&op->x);
    struct norm_lines x = channel_of(&op->x, i), dy = channel_of(&op->dy, i);
    struct norm_lines dx = channel_of(&op->dx, i);
    float sums[2], count = (float)(c.lines * c.line);
    (void)worker;
    c.mean = *at(&op->mean, 1, i);
    c.rstd = *at(&op->rstd, 1, i);
    c.gamma = norm_value(&op->gamma, 0, i, 1.0f);
    c.given = op->given;
    if (op->average.buffer != NULL) {
        count = 1.0f;
        sums[0] = *at(&op->average, 1, i);
        sums[1] = *(at(&op->average, 1, i) + op->average.stride[0]);
    } else
        b->kernels->sum_dy(&c, &x, &dy, sums);
    if (op->dgamma.buffer != NULL)
        *at(&op->dgamma, 0, i) = sums[1];
    if (op->dbeta.buffer != NULL)
        *at(&op->dbeta, 0, i) = sums[0];
    c.avg = s_div(c.gamma * sums[0], count);
    c.avg_z = s_div(c.gamma * sums[1], count);
    if (dx.data != NULL)
        b->kernels->gradient(&c, &x, &dy, &dx);
}

static bool norm_check_backward(const struct backend_device *d,
                                const struct channel_norm_backward_op *op,
                                struct why *why)
{
    (void)d;
    return norm_check_channels(&op->x, op->pooled, why) &&
           check_view(&op->dy, "dy", why) && check_view(&op->dx, "dx", why);
}

static ssq_status norm_run_backward(struct backend_queue *queue,
                                    const struct channel_norm_backward_op *op)
{
    struct norm_backward b = {op, kernels_of(queue->device->isa)};
    for_channels(queue, &op->x, differentiate, &b);
    return SSQ_OK;
}

const struct channel_norm_backward_impl cpu_channel_norm_backward[] = {
    {.name = "channels",
     .check = norm_check_backward,
     .run = norm_run_backward},
    {.name = NULL},
};
