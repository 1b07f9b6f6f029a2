/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - cases of batch norm and group norm: forward. */
#include "conformance/activation.h"
#include "conformance/case.h"
#include "conformance/golden.h"
#include "conformance/golden_onnx.h"
#include "conformance/norm/channel_norm.h"
#include "conformance/norm/golden_norm.h"

struct batch_norm_operands {
    struct operand x, gamma, beta, running_mean, running_var, y, mean, rstd;
};

static void batch_norm_make_operands(struct harness *b,
                                     const struct channel_entry *e,
                                     struct batch_norm_operands *o)
{
    memset(o, 0, sizeof(*o));
    int64_t c = channel_count(e), sets[2];
    int rank = channel_sets_shape(e, sets);
    enum layout layout = e->layout_out;
    channel_make_x(b, e, &o->x);
    if (e->gamma)
        harness_input(b, &o->gamma, SSQ_F32, 1, &c, layout, FILL_NORMAL);
    if (e->beta)
        harness_input(b, &o->beta, SSQ_F32, 1, &c, LAYOUT_PADDED, FILL_NORMAL);
    if (e->running) {
        harness_input(b, &o->running_mean, SSQ_F32, 1, &c, layout, FILL_NORMAL);
        harness_input(b, &o->running_var, SSQ_F32, 1, &c, layout,
                      FILL_POSITIVE);
    }
    if (e->stats) {
        harness_output(b, &o->mean, SSQ_F32, rank, sets, layout);
        harness_output(b, &o->rstd, SSQ_F32, rank, sets, e->layout_in);
    }
    if (e->place == 1)
        o->y = o->x;
    else
        harness_output(b, &o->y, e->out, e->rank, e->shape, layout);
}

static ssq_status batch_norm_call(struct harness *b,
                                  const struct channel_entry *e,
                                  const struct batch_norm_operands *o)
{
    ssq_batch_norm_args a = SSQ_BATCH_NORM_INIT;
    ssq_group_norm_args g = SSQ_GROUP_NORM_INIT;
    a.x = g.x = o->x.t;
    a.gamma = g.gamma = o->gamma.t;
    a.beta = g.beta = o->beta.t;
    a.running_mean = o->running_mean.t;
    a.running_var = o->running_var.t;
    a.y = g.y = o->y.t;
    a.mean = g.mean = o->mean.t;
    a.rstd = g.rstd = o->rstd.t;
    a.axis = g.axis = e->axis;
    g.groups = e->groups;
    a.training = e->training;
    a.population_variance = e->population;
    a.momentum = e->momentum;
    a.eps = g.eps = e->eps;
    a.activation = g.activation = e->activation;
    return e->batch ? ssq_batch_norm(b->queue, &a)
                    : ssq_group_norm(b->queue, &g);
}

/* mean and rstd, as the backward op will want them. */
static bool batch_norm_check_stats(struct harness *b,
                                   const struct channel_entry *e,
                                   const struct channel_problem *p,
                                   struct batch_norm_operands *o)
{
    if (!e->stats)
        return true;
    size_t bytes = (size_t)p->sets * sizeof(double);
    double *mean = harness_alloc(b, bytes),
           *mean_error = harness_alloc(b, bytes);
    double *rstd = harness_alloc(b, bytes),
           *rstd_error = harness_alloc(b, bytes);
    for (int64_t s = 0; s < p->sets; s++) {
        const struct norm_facts *f = &p->facts[s];
        mean[s] = f->mean;
        rstd[s] = f->rstd;
        mean_error[s] = f->mean_error;
        rstd_error[s] = f->rstd * f->rstd_error;
    }
    harness_read(b, &o->mean);
    harness_read(b, &o->rstd);
    return harness_bound(b, &o->mean, mean, mean_error) &&
           harness_bound(b, &o->rstd, rstd, rstd_error);
}

/* Of the variance that the running one moves to. */
static double bound_variance(const struct channel_entry *e,
                             const struct norm_facts *f)
{
    double bound = bound_unbiased(f);
    return e->population ? bound * (f->n - 1.0) / f->n : bound;
}

/* Updated in training, left alone otherwise. */
static bool batch_norm_check_running(struct harness *b,
                                     const struct channel_entry *e,
                                     const struct channel_problem *p,
                                     struct batch_norm_operands *o)
{
    if (!e->running)
        return true;
    if (!e->training || p->elements == 0)
        return harness_unchanged(b, &o->running_mean) &&
               harness_unchanged(b, &o->running_var);
    double keep = (double)(float)(1.0 - e->momentum);
    double momentum = (double)(float)e->momentum;
    struct operand *r[] = {&o->running_mean, &o->running_var};
    for (int k = 0; k < 2; k++) {
        double *want = harness_alloc(b, (size_t)p->sets * sizeof(double));
        double *error = harness_alloc(b, (size_t)p->sets * sizeof(double));
        for (int64_t c = 0; c < p->sets; c++) {
            const struct norm_facts *f = &p->facts[c];
            double old = keep * r[k]->value[c];
            double less = e->population ? 0.0 : 1.0;
            double x = k == 0 ? f->mean : f->var * f->n / (f->n - less);
            want[c] = old + momentum * x;
            error[c] =
                bound_running(old, momentum, x,
                              k == 0 ? f->mean_error : bound_variance(e, f));
        }
        harness_read(b, r[k]);
        harness_bound(b, r[k], want, error);
    }
    return !b->failed;
}

static bool batch_norm_run_entry(struct harness *b,
                                 const struct channel_entry *e)
{
    struct batch_norm_operands o;
    batch_norm_make_operands(b, e, &o);
    struct channel_problem p = channel_problem_of(b, e);
    p.gamma = o.gamma.value;
    p.beta = o.beta.value;
    if (p.given) {
        p.mean = o.running_mean.value;
        p.var = o.running_var.value;
    }
    size_t n = (size_t)p.elements;
    bool fresh;
    double *y = harness_keep(b, 0, n, &fresh),
           *error = harness_keep(b, 1, n, &fresh);
    channel_facts(&p, o.x.value);
    if (fresh) {
        channel_forward(&p, o.x.value, y, error);
        for (size_t i = 0; i < n && e->activation != SSQ_ACTIVATION_NONE; i++) {
            y[i] = activation_oracle(y[i], e->activation);
            error[i] = bound_activation(
                error[i], activation_lipschitz(e->activation), y[i]);
        }
    }
    b->flops = 9.0 * (double)n;
    b->bytes =
        (double)n * (ssq_dtype_bits(e->in) + ssq_dtype_bits(o.y.dtype)) / 8.0;
    HARNESS_OP(b, batch_norm_call(b, e, &o));
    harness_read(b, &o.y);
    return harness_bound(b, &o.y, y, error) &&
           batch_norm_check_stats(b, e, &p, &o) &&
           (harness_over(b) || batch_norm_check_running(b, e, &p, &o));
}

/* ---- what torch and ONNX say ---- */

static bool batch_norm_run_golden_batch(struct harness *b, bool training,
                                        bool population)
{
    const int64_t shape[] = {3, 2, 2, 2}, c = 2;
    const double var[] = {11.0 / 16.0, 15.0 / 16.0};
    struct channel_entry e = {.batch = true,
                              .training = training,
                              .population = population,
                              .rank = 4,
                              .axis = 1,
                              .shape = {3, 2, 2, 2},
                              .momentum = 0.25,
                              .eps = 0.125};
    struct batch_norm_operands o = {.x = {.t = NULL}};
    golden_input(b, &o.x, 5, 4, shape);
    golden_input(b, &o.gamma, 7, 1, &c);
    golden_input(b, &o.beta, 3, 1, &c);
    golden_input(b, &o.running_mean, 2, 1, &c);
    harness_values(b, &o.running_var, SSQ_F32, 1, &c, LAYOUT_DENSE, var);
    harness_output(b, &o.y, SSQ_F32, 4, shape, LAYOUT_DENSE);
    struct channel_problem p = channel_problem_of(b, &e);
    double y[24], error[24];
    p.gamma = o.gamma.value;
    p.beta = o.beta.value;
    p.mean = training ? NULL : o.running_mean.value;
    p.var = training ? NULL : o.running_var.value;
    channel_facts(&p, o.x.value);
    channel_forward(&p, o.x.value, y, error);
    HARNESS_OP(b, batch_norm_call(b, &e, &o));
    harness_read(b, &o.y);
    harness_read(b, &o.running_mean);
    harness_read(b, &o.running_var);
    const double *want = training ? golden_batch_y : golden_batch_given_y;
    if (!golden_agrees(b, "y", y, want, 24) ||
        !harness_bound(b, &o.y, want, error) || !training)
        return !b->failed;
    for (int k = 0; k < 2; k++) {
        const struct norm_facts *f = &p.facts[k];
        error[k] = bound_running(1.0, 0.25, f->mean, f->mean_error);
        error[2 + k] =
            bound_running(1.0, 0.25, f->var * 1.1, bound_variance(&e, f));
    }
    const double *mean =
        population ? golden_onnx_batch_mean : golden_batch_mean;
    const double *moved = population ? golden_onnx_batch_var : golden_batch_var;
    return harness_bound(b, &o.running_mean, mean, error) &&
           harness_bound(b, &o.running_var, moved, error + 2);
}

static bool batch_norm_run_golden_group(struct harness *b)
{
    const int64_t shape[] = {2, 4, 3}, c = 4;
    const struct channel_entry e = {
        .rank = 3, .axis = 1, .shape = {2, 4, 3}, .groups = 2, .eps = 0.125};
    struct batch_norm_operands o = {.x = {.t = NULL}};
    golden_input(b, &o.x, 5, 3, shape);
    golden_input(b, &o.gamma, 7, 1, &c);
    golden_input(b, &o.beta, 3, 1, &c);
    harness_output(b, &o.y, SSQ_F32, 3, shape, LAYOUT_DENSE);
    struct channel_problem p = channel_problem_of(b, &e);
    double y[24], error[24];
    p.gamma = o.gamma.value;
    p.beta = o.beta.value;
    channel_facts(&p, o.x.value);
    channel_forward(&p, o.x.value, y, error);
    HARNESS_OP(b, batch_norm_call(b, &e, &o));
    harness_read(b, &o.y);
    return golden_agrees(b, "y", y, golden_group_y, 24) &&
           harness_bound(b, &o.y, golden_group_y, error);
}

/* ---- edges ---- */

/* torch 2.15.0: a NaN or an Inf makes its whole channel NaN, the running
 * statistics too, for good; other channels do not notice. */
static bool batch_norm_run_nan(struct harness *b)
{
    const int64_t shape[] = {2, 3}, c = 3;
    const double nan = (double)NAN, inf = (double)INFINITY;
    const double x[] = {1.0, nan, inf, -1.0, 2.0, 2.0};
    const double y[] = {1.0, nan, nan, -1.0, nan, nan};
    const double ones[] = {1.0, 1.0, 1.0};
    /* after two calls: (1 + 0) / 2 / 2, and ((1 + 2) / 2 + 2) / 2 */
    const double mean[] = {0.25, nan, inf}, var[] = {1.75, nan, nan};
    struct channel_entry e = {.batch = true,
                              .training = true,
                              .axis = 1,
                              .momentum = 0.5,
                              .eps = 0.0};
    struct batch_norm_operands o = {.x = {.t = NULL}};
    harness_values(b, &o.x, SSQ_F32, 2, shape, LAYOUT_DENSE, x);
    harness_values(b, &o.running_mean, SSQ_F32, 1, &c, LAYOUT_DENSE, ones);
    harness_values(b, &o.running_var, SSQ_F32, 1, &c, LAYOUT_DENSE, ones);
    harness_output(b, &o.y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    for (int k = 0; k < 2; k++)
        HARNESS_OP(b, batch_norm_call(b, &e, &o));
    harness_read(b, &o.y);
    harness_read(b, &o.running_mean);
    harness_read(b, &o.running_var);
    return harness_bound1(b, &o.y, y, 0.0) &&
           harness_bound1(b, &o.running_mean, mean, 0.0) &&
           harness_bound1(b, &o.running_var, var, 0.0);
}

/* Beyond 65504: y = 1 gamma. */
static bool batch_norm_run_overflow(struct harness *b)
{
    const int64_t shape[] = {2, 3}, c = 3;
    const double inf = (double)INFINITY;
    const double x[] = {1.0, 1.0, 1.0, -1.0, -1.0, -1.0};
    const double gamma[] = {65519.0, 65520.0, 65504.0};
    const double y[] = {65504.0, inf, 65504.0, -65504.0, -inf, -65504.0};
    struct channel_entry e = {.batch = true, .training = true, .axis = 1};
    struct batch_norm_operands o = {.x = {.t = NULL}};
    harness_values(b, &o.x, SSQ_F32, 2, shape, LAYOUT_DENSE, x);
    harness_values(b, &o.gamma, SSQ_F32, 1, &c, LAYOUT_DENSE, gamma);
    harness_output(b, &o.y, SSQ_F16, 2, shape, LAYOUT_DENSE);
    HARNESS_OP(b, batch_norm_call(b, &e, &o));
    harness_read(b, &o.y);
    return harness_exact(b, &o.y, y);
}

/* Channels of one number, or examples of it: the mean is that number and y 0,
 * and running statistics that move all the way are that number and 0. As in
 * layer_norm.c no bit of the deviations' sums is lost. */
static bool batch_norm_run_constant(struct harness *b, bool batch, bool last)
{
    enum { N = 25, C = 3, PLACES = 4, ALL = N * C * PLACES };
    static const double number[C] = {10000.1, 1677721.75, 1.7e9};
    const int64_t shape[] = {N, last ? PLACES : C, last ? C : PLACES};
    const int64_t sets[] = {batch ? C : N, C}, c = C;
    double x[ALL], mean[N * C];
    static const double zero[ALL];
    struct channel_entry e = {.batch = batch,
                              .training = true,
                              .axis = last ? 2 : 1,
                              .groups = C,
                              .momentum = 1.0,
                              .eps = 1e-5};
    struct batch_norm_operands o = {.x = {.t = NULL}};
    for (int i = 0; i < ALL; i++)
        x[i] = (double)(float)number[last ? i % C : i / PLACES % C];
    for (int i = 0; i < N * C; i++)
        mean[i] = (double)(float)number[i % C];
    harness_values(b, &o.x, SSQ_F32, 3, shape, LAYOUT_DENSE, x);
    harness_output(b, &o.y, SSQ_F32, 3, shape, LAYOUT_DENSE);
    harness_output(b, &o.mean, SSQ_F32, batch ? 1 : 2, sets, LAYOUT_DENSE);
    harness_output(b, &o.rstd, SSQ_F32, batch ? 1 : 2, sets, LAYOUT_DENSE);
    harness_values(b, &o.running_mean, SSQ_F32, 1, &c, LAYOUT_DENSE, number);
    harness_values(b, &o.running_var, SSQ_F32, 1, &c, LAYOUT_DENSE, number);
    HARNESS_OP(b, batch_norm_call(b, &e, &o));
    harness_read(b, &o.y);
    harness_read(b, &o.mean);
    harness_read(b, &o.running_mean);
    harness_read(b, &o.running_var);
    bool ok = harness_exact(b, &o.y, zero) && harness_exact(b, &o.mean, mean);
    return ok && (!batch || (harness_exact(b, &o.running_mean, mean) &&
                             harness_exact(b, &o.running_var, zero)));
}

static bool bn_refused(struct harness *b, const ssq_batch_norm_args *a,
                       const char *text)
{
    return harness_refused_as(b, SSQ_ERR_INVALID, ssq_batch_norm(b->queue, a),
                              text);
}

static bool refused_group(struct harness *b, const ssq_group_norm_args *a,
                          const char *text)
{
    return harness_refused_as(b, SSQ_ERR_INVALID, ssq_group_norm(b->queue, a),
                              text);
}

static bool batch_norm_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3, 4}, three = 3, four = 4;
    const int64_t single[] = {1, 3, 1};
    struct operand x, y, c, v, wrong, one, half, y1;
    harness_input(b, &x, SSQ_F32, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 3, shape, LAYOUT_DENSE);
    harness_input(b, &c, SSQ_F32, 1, &three, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &v, SSQ_F32, 1, &three, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &wrong, SSQ_F32, 1, &four, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &half, SSQ_F16, 1, &three, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &one, SSQ_F32, 3, single, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y1, SSQ_F32, 3, single, LAYOUT_DENSE);
    ssq_batch_norm_args good = *SSQ_BATCH_NORM(.x = x.t, .y = y.t);
    ssq_batch_norm_args a = good;
    a.x = one.t;
    a.y = y1.t;
    bn_refused(b, &a,
               "batch_norm: x is [1,3,1]: 1 value per channel has no variance");
    a = good;
    a.training = false;
    bn_refused(b, &a, "training is false, and there are no running statistics");
    a.mean = c.t;
    a.rstd = v.t;
    bn_refused(b, &a, "training is false, and there are no running statistics");
    a = good;
    a.running_mean = c.t;
    bn_refused(b, &a, "running_var is NULL, but not running_mean");
    a = good;
    a.axis = 3;
    bn_refused(b, &a, "batch_norm: axis 3 of rank 3");
    a = good;
    a.eps = (double)NAN;
    bn_refused(b, &a,
               "batch_norm: eps is nan, expected >= 0, finite in float32");
    a = good;
    a.momentum = 1.5;
    bn_refused(b, &a, "batch_norm: momentum is 1.5, expected 0 to 1");
    a = good;
    a.activation = (ssq_activation)7;
    bn_refused(b, &a, "batch_norm: 7 is not an activation");
    a = good;
    a.gamma = wrong.t;
    bn_refused(b, &a, "batch_norm: gamma is [4], expected [3] for x, [2,3,4]");
    a = good;
    a.beta = half.t;
    bn_refused(b, &a, "batch_norm: beta is f16, expected f32");
    a = good;
    a.mean = wrong.t;
    bn_refused(b, &a, "batch_norm: mean is [4], expected [3] for x, [2,3,4]");
    a = good;
    a.y = one.t;
    bn_refused(b, &a, "batch_norm: x is [2,3,4], y is [1,3,1]");
    a = good;
    a.running_mean = a.running_var = c.t;
    bn_refused(b, &a, "batch_norm: running_mean overlaps running_var");
    a = good;
    a.x = c.t;
    a.y = v.t;
    bn_refused(b, &a, "batch_norm: x has rank 1, expected 2 or more");
    return harness_unchanged(b, &y) && harness_unchanged(b, &c) &&
           harness_unchanged(b, &v);
}

static bool run_refusals_group(struct harness *b)
{
    const int64_t shape[] = {2, 6, 4}, six = 6;
    struct operand x, y, c;
    harness_input(b, &x, SSQ_F32, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 3, shape, LAYOUT_DENSE);
    harness_output(b, &c, SSQ_F32, 1, &six, LAYOUT_DENSE);
    ssq_group_norm_args good = SSQ_GROUP_NORM_INIT;
    good.x = x.t;
    good.y = y.t;
    ssq_group_norm_args a = good;
    a.groups = 4;
    refused_group(b, &a,
                  "group_norm: 4 groups of the 6 channels of x, [2,6,4]");
    a.groups = 0;
    refused_group(b, &a,
                  "group_norm: 0 groups of the 6 channels of x, [2,6,4]");
    a = good;
    a.axis = -3;
    refused_group(b, &a,
                  "group_norm: axis is -3 of rank 3: dimension 0 is the batch");
    a = good;
    a.mean = c.t;
    refused_group(b, &a,
                  "group_norm: mean is [6], expected [2,1] for x, [2,6,4]");
    a = good;
    a.eps = -1.0;
    refused_group(b, &a,
                  "group_norm: eps is -1, expected >= 0, finite in float32");
    return harness_unchanged(b, &y) && harness_unchanged(b, &c);
}

/* ---- the tables ---- */

#define DRAWN 220

static const char *const batch_words[] = {
    "batch_norm 3x2x2x2 training, as torch",
    "batch_norm 3x2x2x2 inference, as torch",
    "batch_norm 3x2x2x2 training with the population's variance, as ONNX",
    "batch_norm 2x3 with a NaN and an Inf in two of its channels",
    "batch_norm 2x3 overflows f16 from 65520 on",
    "batch_norm 25x3x4: channels of one number have that mean, y is 0",
    "batch_norm 25x4x3, channels last: of one number, likewise",
    "batch_norm refuses wrong arguments",
};

static void batch_norm_describe_batch(size_t i, char *text, size_t bytes)
{
    if (i >= DRAWN) {
        snprintf(text, bytes, "%s", batch_words[i - DRAWN]);
        return;
    }
    struct channel_entry e = channel_entry_of(i, true);
    channel_entry_text(&e, false, text, bytes);
}

static bool batch_norm_run_batch(struct harness *b, size_t i)
{
    struct channel_entry e;
    switch (i) {
    case DRAWN:
    case DRAWN + 1:
    case DRAWN + 2:
        return batch_norm_run_golden_batch(b, i != DRAWN + 1, i == DRAWN + 2);
    case DRAWN + 3:
        return batch_norm_run_nan(b);
    case DRAWN + 4:
        return batch_norm_run_overflow(b);
    case DRAWN + 5:
    case DRAWN + 6:
        return batch_norm_run_constant(b, true, i == DRAWN + 6);
    case DRAWN + 7:
        return batch_norm_run_refusals(b);
    default:
        e = channel_entry_of(i, true);
        return batch_norm_run_entry(b, &e);
    }
}

extern const struct suite batch_norm_suite;
const struct suite batch_norm_suite = {.op = "channel_norm",
                                       .name = "batch_norm",
                                       .n = DRAWN + COUNT(batch_words),
                                       .describe = batch_norm_describe_batch,
                                       .run = batch_norm_run_batch,
                                       .floor = 400};

static const char *const group_words[] = {
    "group_norm 2x4x3 groups 2, as torch",
    "group_norm 25x3x4 groups 3: sets of one number have that mean, y is 0",
    "group_norm refuses wrong arguments",
};

static void batch_norm_describe_group(size_t i, char *text, size_t bytes)
{
    if (i >= DRAWN) {
        snprintf(text, bytes, "%s", group_words[i - DRAWN]);
        return;
    }
    struct channel_entry e = channel_entry_of(i, false);
    channel_entry_text(&e, false, text, bytes);
}

static bool batch_norm_run_group(struct harness *b, size_t i)
{
    if (i >= DRAWN)
        return i == DRAWN       ? batch_norm_run_golden_group(b)
               : i == DRAWN + 1 ? batch_norm_run_constant(b, false, false)
                                : run_refusals_group(b);
    struct channel_entry e = channel_entry_of(i, false);
    return batch_norm_run_entry(b, &e);
}

extern const struct suite group_norm_suite;
const struct suite group_norm_suite = {.op = "channel_norm",
                                       .name = "group_norm",
                                       .n = DRAWN + COUNT(group_words),
                                       .describe = batch_norm_describe_group,
                                       .run = batch_norm_run_group,
                                       .floor = 400};
