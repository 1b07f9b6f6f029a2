/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm_backward.c - cases of batch norm and group norm: backward. */
#include "conformance/case.h"
#include "conformance/difference.h"
#include "conformance/golden.h"
#include "conformance/norm/channel_norm.h"
#include "conformance/norm/golden_norm.h"

#define DX     1u
#define DGAMMA 2u
#define DBETA  4u

struct batch_norm_backward_operands {
    struct operand x, gamma, running_mean, running_var, mean, rstd, dy;
    struct operand dx, dgamma, dbeta;
    double *given_x, *given_dy; /* dx may be either */
};

static double *batch_norm_backward_copied(struct harness *b,
                                          const struct operand *x)
{
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    memcpy(v, x->value, (size_t)x->n * sizeof(*v));
    return v;
}

/* The output that a forward op would have saved, rounded to float32. */
static void
batch_norm_backward_make_stats(struct harness *b, const struct channel_entry *e,
                               const struct channel_problem *p,
                               struct batch_norm_backward_operands *o)
{
    int64_t sets[2];
    int rank = channel_sets_shape(e, sets);
    size_t bytes = (size_t)p->sets * sizeof(double);
    double *mean = harness_alloc(b, bytes), *rstd = harness_alloc(b, bytes);
    for (int64_t s = 0; s < p->sets; s++) {
        mean[s] = p->facts[s].mean;
        rstd[s] = p->facts[s].rstd;
    }
    harness_values(b, &o->mean, SSQ_F32, rank, sets, LAYOUT_DENSE, mean);
    harness_values(b, &o->rstd, SSQ_F32, rank, sets, e->layout_in, rstd);
}

static void make_inputs(struct harness *b, const struct channel_entry *e,
                        struct batch_norm_backward_operands *o)
{
    memset(o, 0, sizeof(*o));
    int64_t c = channel_count(e);
    channel_make_x(b, e, &o->x);
    harness_input(b, &o->dy, e->out, e->rank, e->shape, e->layout_out,
                  e->data != DATA_SPECIAL ? FILL_NORMAL : FILL_ONES);
    o->given_x = batch_norm_backward_copied(b, &o->x);
    o->given_dy = batch_norm_backward_copied(b, &o->dy);
    if (e->gamma)
        harness_input(b, &o->gamma, SSQ_F32, 1, &c, e->layout_out, FILL_NORMAL);
    if (!e->batch || (e->training && !e->running))
        return;
    harness_input(b, &o->running_mean, SSQ_F32, 1, &c, e->layout_in,
                  FILL_NORMAL);
    harness_input(b, &o->running_var, SSQ_F32, 1, &c, LAYOUT_PADDED,
                  FILL_POSITIVE);
}

static void make_outputs(struct harness *b, const struct channel_entry *e,
                         struct batch_norm_backward_operands *o)
{
    int64_t c = channel_count(e);
    if ((e->outputs & DGAMMA) != 0)
        harness_output(b, &o->dgamma, SSQ_F32, 1, &c, e->layout_in);
    if ((e->outputs & DBETA) != 0)
        harness_output(b, &o->dbeta, SSQ_F32, 1, &c, LAYOUT_PADDED);
    if ((e->outputs & DX) == 0)
        return;
    if (e->place != 0)
        o->dx = e->place == 1 ? o->x : o->dy;
    else
        harness_output(b, &o->dx, e->in, e->rank, e->shape, e->layout_in);
}

static ssq_status
batch_norm_backward_call(struct harness *b, const struct channel_entry *e,
                         const struct batch_norm_backward_operands *o)
{
    ssq_batch_norm_backward_args a = SSQ_BATCH_NORM_BACKWARD_INIT;
    ssq_group_norm_backward_args g = SSQ_GROUP_NORM_BACKWARD_INIT;
    a.x = g.x = o->x.t;
    a.gamma = g.gamma = o->gamma.t;
    a.running_mean = o->running_mean.t;
    a.running_var = o->running_var.t;
    a.mean = g.mean = o->mean.t;
    a.rstd = g.rstd = o->rstd.t;
    a.dy = g.dy = o->dy.t;
    a.dx = g.dx = o->dx.t;
    a.dgamma = g.dgamma = o->dgamma.t;
    a.dbeta = g.dbeta = o->dbeta.t;
    a.axis = g.axis = e->axis;
    g.groups = e->groups;
    a.training = e->training;
    a.eps = g.eps = e->eps;
    return e->batch ? ssq_batch_norm_backward(b->queue, &a)
                    : ssq_group_norm_backward(b->queue, &g);
}

/* ---- the oracle against differences ---- */

struct batch_norm_backward_weighted {
    const struct channel_problem *p;
    const double *x, *dy;
    double *y, *error;
};

static double
batch_norm_backward_sum_of(const struct batch_norm_backward_weighted *w)
{
    double sum = 0.0;
    channel_facts(w->p, w->x);
    channel_forward(w->p, w->x, w->y, w->error);
    for (int64_t i = 0; i < w->p->elements; i++)
        sum += w->dy[i] * w->y[i];
    return sum;
}

static double batch_norm_backward_of_x(const void *data, const double *x)
{
    struct batch_norm_backward_weighted w =
        *(const struct batch_norm_backward_weighted *)data;
    w.x = x;
    return batch_norm_backward_sum_of(&w);
}

static double batch_norm_backward_of_gamma(const void *data,
                                           const double *gamma)
{
    struct batch_norm_backward_weighted w =
        *(const struct batch_norm_backward_weighted *)data;
    struct channel_problem p = *w.p;
    p.gamma = gamma;
    w.p = &p;
    return batch_norm_backward_sum_of(&w);
}

/* Of the sets: sums of |g|, the largest rstd, fewest elements; and what all
 * terms add up to. */
struct batch_norm_backward_extent {
    double most, sum, least, size;
};

static struct batch_norm_backward_extent
extent_of(struct harness *b, const struct channel_problem *p,
          const struct batch_norm_backward_operands *o)
{
    struct batch_norm_backward_extent t = {0.0, 0.0, (double)INFINITY, 1.0};
    double *sum = harness_alloc(b, (size_t)p->sets * sizeof(*sum));
    for (int64_t i = 0; i < p->elements; i++) {
        const struct norm_facts *f = &p->facts[p->set_of[i]];
        double gamma = p->gamma == NULL ? 1.0 : p->gamma[p->channel_of[i]];
        double dy = fabs(o->given_dy[i]), g = dy * fabs(gamma);
        sum[p->set_of[i]] += g;
        t.sum = fmax(t.sum, sum[p->set_of[i]]);
        t.most = fmax(t.most, f->rstd);
        t.least = fmin(t.least, f->n);
        t.size +=
            (g + dy) * (1.0 + (fabs(o->given_x[i]) + fabs(f->mean)) * f->rstd);
    }
    return t;
}

/* y is linear in gamma, and in x where statistics are given. Otherwise along
 * one x of a set of n, as derived in layer_norm_backward.c: |f'''| is at most
 * 72 rstd^3 / n sum |g| within a step of 2^-13 / rstd. */
static bool
batch_norm_backward_differentiable(struct harness *b,
                                   const struct channel_problem *p,
                                   const struct batch_norm_backward_operands *o,
                                   const struct channel_gradient *g)
{
    size_t n = (size_t)p->elements, c = (size_t)p->channels;
    if (n == 0 || n > 260 || p->rstd != NULL)
        return true;
    struct batch_norm_backward_extent t = extent_of(b, p, o);
    if (!(t.most < 1e6))
        return true; /* no variance and no eps: not differentiable */
    struct channel_problem own = *p;
    own.facts = harness_alloc(b, (size_t)p->sets * sizeof(*own.facts));
    struct batch_norm_backward_weighted w = {
        &own, o->given_x, o->given_dy, harness_alloc(b, n * sizeof(double)),
        harness_alloc(b, n * sizeof(double))};
    double *x = harness_alloc(b, n * sizeof(double));
    double *gamma = harness_alloc(b, c * sizeof(double));
    memcpy(x, o->given_x, n * sizeof(double));
    for (size_t k = 0; k < c; k++)
        gamma[k] = p->gamma == NULL ? 1.0 : p->gamma[k];
    double third = 72.0 * t.most * t.most * t.most / t.least * t.sum;
    return difference_check(b, batch_norm_backward_of_x, &w, x, n, g->dx,
                            0x1p-13 / t.most, p->given ? 0.0 : third, t.size) &&
           difference_check(b, batch_norm_backward_of_gamma, &w, gamma, c,
                            g->dgamma, 0x1p-13, 0.0, t.size);
}

/* ---- the case ---- */

static bool gradients_of(struct harness *b, const struct channel_entry *e,
                         const struct channel_problem *p,
                         const struct batch_norm_backward_operands *o,
                         struct channel_gradient *g)
{
    size_t n = (size_t)p->elements, c = (size_t)p->channels;
    bool fresh, flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    g->dx = harness_keep(b, 0, n, &fresh);
    g->dx_error = harness_keep(b, 1, n, &fresh);
    g->dgamma = harness_keep(b, 2, c, &fresh);
    g->dgamma_error = harness_keep(b, 3, c, &fresh);
    g->dbeta = harness_keep(b, 4, c, &fresh);
    g->dbeta_error = harness_keep(b, 5, c, &fresh);
    if (!fresh)
        return true;
    channel_backward(b, p, o->given_x, o->given_dy, bound_tiny(flushed), g);
    return harness_over(b) || e->data == DATA_SPECIAL ||
           batch_norm_backward_differentiable(b, p, o, g);
}

static bool batch_norm_backward_compare(struct harness *b,
                                        const struct channel_entry *e,
                                        struct batch_norm_backward_operands *o,
                                        const struct channel_gradient *g)
{
    if ((e->outputs & DX) != 0) {
        harness_read(b, &o->dx);
        harness_bound(b, &o->dx, g->dx, g->dx_error);
    }
    if ((e->outputs & DGAMMA) != 0) {
        harness_read(b, &o->dgamma);
        harness_bound(b, &o->dgamma, g->dgamma, g->dgamma_error);
    }
    if ((e->outputs & DBETA) != 0) {
        harness_read(b, &o->dbeta);
        harness_bound(b, &o->dbeta, g->dbeta, g->dbeta_error);
    }
    return !b->failed;
}

static bool batch_norm_backward_run_entry(struct harness *b,
                                          const struct channel_entry *e)
{
    struct channel_problem p = channel_problem_of(b, e);
    struct batch_norm_backward_operands o;
    struct channel_gradient g;
    make_inputs(b, e, &o);
    p.gamma = o.gamma.value;
    if (p.given) {
        p.mean = o.running_mean.value;
        p.var = o.running_var.value;
    }
    channel_facts(&p, o.given_x);
    if (e->stats) {
        batch_norm_backward_make_stats(b, e, &p, &o);
        p.mean = o.mean.value;
        p.rstd = o.rstd.value;
        channel_facts(&p, o.given_x);
    }
    make_outputs(b, e, &o);
    if (!gradients_of(b, e, &p, &o, &g))
        return false;
    b->flops = 16.0 * (double)o.x.n;
    b->bytes = (double)o.x.n *
               (2.0 * ssq_dtype_bits(e->in) + ssq_dtype_bits(e->out)) / 8.0;
    HARNESS_OP(b, batch_norm_backward_call(b, e, &o));
    return batch_norm_backward_compare(b, e, &o, &g);
}

/* ---- what torch says ---- */

static bool run_golden(struct harness *b, const struct channel_entry *e,
                       const double *dx, const double *dgamma,
                       const double *dbeta)
{
    const double var[] = {11.0 / 16.0, 15.0 / 16.0};
    int64_t c = channel_count(e);
    struct batch_norm_backward_operands o = {.x = {.t = NULL}};
    struct channel_gradient g;
    golden_input(b, &o.x, 5, e->rank, e->shape);
    golden_input(b, &o.gamma, 7, 1, &c);
    golden_input(b, &o.dy, 11, e->rank, e->shape);
    if (e->batch && !e->training) {
        golden_input(b, &o.running_mean, 2, 1, &c);
        harness_values(b, &o.running_var, SSQ_F32, 1, &c, LAYOUT_DENSE, var);
    }
    make_outputs(b, e, &o);
    o.given_x = batch_norm_backward_copied(b, &o.x);
    o.given_dy = batch_norm_backward_copied(b, &o.dy);
    struct channel_problem p = channel_problem_of(b, e);
    p.gamma = o.gamma.value;
    p.mean = o.running_mean.value;
    p.var = o.running_var.value;
    channel_facts(&p, o.x.value);
    HARNESS_OP(b, batch_norm_backward_call(b, e, &o));
    return gradients_of(b, e, &p, &o, &g) &&
           batch_norm_backward_compare(b, e, &o, &g) &&
           golden_agrees(b, "dx", g.dx, dx, p.elements) &&
           golden_agrees(b, "dgamma", g.dgamma, dgamma, c) &&
           golden_agrees(b, "dbeta", g.dbeta, dbeta, c);
}

static bool batch_norm_backward_run_golden_batch(struct harness *b,
                                                 bool training)
{
    const struct channel_entry e = {.batch = true,
                                    .training = training,
                                    .rank = 4,
                                    .axis = 1,
                                    .shape = {3, 2, 2, 2},
                                    .in = SSQ_F32,
                                    .eps = 0.125,
                                    .outputs = DX | DGAMMA | DBETA};
    return training ? run_golden(b, &e, golden_batch_dx, golden_batch_dgamma,
                                 golden_batch_dbeta)
                    : run_golden(b, &e, golden_batch_given_dx,
                                 golden_batch_given_dgamma, golden_batch_dbeta);
}

static bool batch_norm_backward_run_golden_group(struct harness *b)
{
    const struct channel_entry e = {.rank = 3,
                                    .axis = 1,
                                    .shape = {2, 4, 3},
                                    .groups = 2,
                                    .in = SSQ_F32,
                                    .eps = 0.125,
                                    .outputs = DX | DGAMMA | DBETA};
    return run_golden(b, &e, golden_group_dx, golden_group_dgamma,
                      golden_group_dbeta);
}

/* ---- edges ---- */

/* Statistics computed again give the bits that saved ones give. */
static bool batch_norm_backward_run_again(struct harness *b, bool training)
{
    const int64_t shape[] = {5, 7, 19}, c = 7;
    struct operand x, y, mean, rstd, dy, dx[2], m, v;
    harness_input(b, &dy, SSQ_F16, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    double *values = batch_norm_backward_copied(b, &dy);
    for (int64_t i = 1; i < dy.n; i++)
        values[i] = dy.value[dy.n - i];
    values[0] = (double)NAN; /* would stay in running statistics for good */
    harness_values(b, &x, SSQ_F16, 3, shape, LAYOUT_DENSE, values);
    harness_output(b, &y, SSQ_F32, 3, shape, LAYOUT_DENSE);
    harness_output(b, &mean, SSQ_F32, 1, &c, LAYOUT_DENSE);
    harness_output(b, &rstd, SSQ_F32, 1, &c, LAYOUT_DENSE);
    harness_input(b, &m, SSQ_F32, 1, &c, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &v, SSQ_F32, 1, &c, LAYOUT_DENSE, FILL_POSITIVE);
    ssq_batch_norm_args f = SSQ_BATCH_NORM_INIT;
    f.x = x.t;
    f.y = y.t;
    f.mean = mean.t;
    f.rstd = rstd.t;
    f.training = training;
    f.running_mean = training ? NULL : m.t;
    f.running_var = training ? NULL : v.t;
    HARNESS_OP(b, ssq_batch_norm(b->queue, &f));
    for (int k = 0; k < 2; k++) {
        harness_output(b, &dx[k], SSQ_F32, 3, shape, LAYOUT_DENSE);
        ssq_batch_norm_backward_args a = SSQ_BATCH_NORM_BACKWARD_INIT;
        a.x = x.t;
        a.dy = dy.t;
        a.dx = dx[k].t;
        a.mean = k == 0 ? mean.t : NULL;
        a.rstd = k == 0 ? rstd.t : NULL;
        a.training = training;
        a.running_mean = m.t; /* not written, in training not read */
        a.running_var = v.t;
        HARNESS_OP(b, ssq_batch_norm_backward(b->queue, &a));
        harness_read(b, &dx[k]);
    }
    return harness_bits(b, &dx[1], dx[0].bits) && harness_unchanged(b, &m) &&
           harness_unchanged(b, &v);
}

/* dx = 1 65520 in f16: infinite, so that a scaler sees it. */
static bool batch_norm_backward_run_overflow(struct harness *b)
{
    const int64_t shape[] = {2, 2}, c = 2;
    const double inf = (double)INFINITY;
    const double dy[] = {1.0, -1.0, -1.0, 1.0}, ones[] = {1.0, 1.0};
    const double gamma[] = {65519.0, 65520.0};
    const double want[] = {65504.0, -inf, -65504.0, inf};
    struct channel_entry e = {.batch = true, .axis = 1};
    struct batch_norm_backward_operands o = {.x = {.t = NULL}};
    harness_values(b, &o.x, SSQ_F32, 2, shape, LAYOUT_DENSE, dy);
    harness_values(b, &o.dy, SSQ_F32, 2, shape, LAYOUT_DENSE, dy);
    harness_values(b, &o.gamma, SSQ_F32, 1, &c, LAYOUT_DENSE, gamma);
    harness_values(b, &o.running_mean, SSQ_F32, 1, &c, LAYOUT_DENSE, ones);
    harness_values(b, &o.running_var, SSQ_F32, 1, &c, LAYOUT_DENSE, ones);
    harness_output(b, &o.dx, SSQ_F16, 2, shape, LAYOUT_DENSE);
    HARNESS_OP(b, batch_norm_backward_call(b, &e, &o));
    harness_read(b, &o.dx);
    return harness_exact(b, &o.dx, want);
}

static bool batch_norm_backward_refused(struct harness *b,
                                        const ssq_batch_norm_backward_args *a,
                                        const char *text)
{
    return harness_refused_as(b, SSQ_ERR_INVALID,
                              ssq_batch_norm_backward(b->queue, a), text);
}

static bool batch_norm_backward_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3, 2}, three = 3, two = 2;
    struct operand x, dy, dx, stat, wrong, dg;
    harness_input(b, &x, SSQ_F32, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F32, 3, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &dx, SSQ_F32, 3, shape, LAYOUT_DENSE);
    harness_input(b, &stat, SSQ_F32, 1, &three, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &wrong, SSQ_F32, 1, &two, LAYOUT_DENSE);
    harness_output(b, &dg, SSQ_F16, 1, &three, LAYOUT_DENSE);
    ssq_batch_norm_backward_args good = SSQ_BATCH_NORM_BACKWARD_INIT;
    good.x = x.t;
    good.dy = dy.t;
    good.dx = dx.t;
    ssq_batch_norm_backward_args a = good;
    a.mean = stat.t;
    batch_norm_backward_refused(
        b, &a,
        "batch_norm_backward: rstd is NULL, but not mean: give both or "
        "none");
    a = good;
    a.dx = NULL;
    batch_norm_backward_refused(
        b, &a, "batch_norm_backward: no output: dx, dgamma, dbeta are NULL");
    a = good;
    a.training = false;
    batch_norm_backward_refused(
        b, &a,
        "batch_norm_backward: training is false, and there are no running "
        "statistics");
    a = good;
    a.dgamma = wrong.t;
    batch_norm_backward_refused(
        b, &a,
        "batch_norm_backward: dgamma is [2], expected [3] for x, [2,3,2]");
    a = good;
    a.dbeta = dg.t;
    batch_norm_backward_refused(
        b, &a, "batch_norm_backward: dbeta is f16, expected f32");
    a = good;
    a.dy = NULL;
    batch_norm_backward_refused(b, &a, "batch_norm_backward: dy is NULL");
    ssq_group_norm_backward_args g = SSQ_GROUP_NORM_BACKWARD_INIT;
    g.x = x.t;
    g.dy = dy.t;
    g.dx = dx.t;
    g.groups = 2;
    harness_refused_as(b, SSQ_ERR_INVALID,
                       ssq_group_norm_backward(b->queue, &g),
                       "group_norm_backward: 2 groups of the 3 channels of x, "
                       "[2,3,2]");
    return harness_unchanged(b, &dx) && harness_unchanged(b, &wrong);
}

/* ---- the tables ---- */

#define DRAWN 220

static const char *const batch_words[] = {
    "batch_norm_backward 3x2x2x2 training, as torch",
    "batch_norm_backward 3x2x2x2 inference, as torch",
    "batch_norm_backward 5x7x19 training: the bits of saved statistics",
    "batch_norm_backward 5x7x19 inference: the bits of saved statistics",
    "batch_norm_backward 2x2 overflows f16 from 65520 on",
    "batch_norm_backward refuses wrong arguments",
};

static void batch_norm_backward_describe_batch(size_t i, char *text,
                                               size_t bytes)
{
    if (i >= DRAWN) {
        snprintf(text, bytes, "%s", batch_words[i - DRAWN]);
        return;
    }
    struct channel_entry e = channel_entry_of(i, true);
    channel_entry_text(&e, true, text, bytes);
}

static bool batch_norm_backward_run_batch(struct harness *b, size_t i)
{
    struct channel_entry e;
    switch (i) {
    case DRAWN:
    case DRAWN + 1:
        return batch_norm_backward_run_golden_batch(b, i == DRAWN);
    case DRAWN + 2:
    case DRAWN + 3:
        return batch_norm_backward_run_again(b, i == DRAWN + 2);
    case DRAWN + 4:
        return batch_norm_backward_run_overflow(b);
    case DRAWN + 5:
        return batch_norm_backward_run_refusals(b);
    default:
        e = channel_entry_of(i, true);
        return batch_norm_backward_run_entry(b, &e);
    }
}

extern const struct suite batch_norm_backward_suite;
const struct suite batch_norm_backward_suite = {
    .op = "channel_norm_backward",
    .name = "batch_norm_backward",
    .n = DRAWN + COUNT(batch_words),
    .describe = batch_norm_backward_describe_batch,
    .run = batch_norm_backward_run_batch,
    .floor = 400};

static void batch_norm_backward_describe_group(size_t i, char *text,
                                               size_t bytes)
{
    struct channel_entry e = channel_entry_of(i, false);
    if (i < DRAWN)
        channel_entry_text(&e, true, text, bytes);
    else
        snprintf(text, bytes, "group_norm_backward 2x4x3 groups 2, as torch");
}

static bool batch_norm_backward_run_group(struct harness *b, size_t i)
{
    if (i >= DRAWN)
        return batch_norm_backward_run_golden_group(b);
    struct channel_entry e = channel_entry_of(i, false);
    return batch_norm_backward_run_entry(b, &e);
}

extern const struct suite group_norm_backward_suite;
const struct suite group_norm_backward_suite = {
    .op = "channel_norm_backward",
    .name = "group_norm_backward",
    .n = DRAWN + 1,
    .describe = batch_norm_backward_describe_group,
    .run = batch_norm_backward_run_group,
    .floor = 400};
