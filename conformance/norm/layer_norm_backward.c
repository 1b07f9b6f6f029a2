/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_backward.c - cases of layer norm and RMS norm: backward. */
#include "conformance/norm/layer_norm.h"

#include "conformance/difference.h"

#include <string.h>

#define DX     1u
#define DGAMMA 2u
#define DBETA  4u

struct layer_norm_backward_operands {
    struct operand x, gamma, mean, rstd, dy, dx, dgamma, dbeta;
    double *given_x, *given_dy; /* dx may be either */
};

static double *layer_norm_backward_copied(struct harness *b,
                                          const struct operand *x)
{
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    memcpy(v, x->value, (size_t)x->n * sizeof(*v));
    return v;
}

/* The output that a forward op would have saved, rounded to float32. */
static void
layer_norm_backward_make_stats(struct harness *b, const struct norm_entry *e,
                               const struct norm_problem *p,
                               struct layer_norm_backward_operands *o)
{
    int lead = e->rank - e->ndim;
    size_t bytes = (size_t)p->rows * sizeof(double);
    double *mean = harness_alloc(b, bytes), *rstd = harness_alloc(b, bytes);
    for (int64_t r = 0; r < p->rows; r++) {
        struct norm_facts f = norm_facts_of(p, o->given_x, r);
        mean[r] = f.mean;
        rstd[r] = f.rstd;
    }
    harness_values(b, &o->rstd, SSQ_F32, lead, e->shape, e->layout_in, rstd);
    if (!e->rms)
        harness_values(b, &o->mean, SSQ_F32, lead, e->shape, LAYOUT_DENSE,
                       mean);
}

static void
layer_norm_backward_make_operands(struct harness *b, const struct norm_entry *e,
                                  const struct norm_problem *p,
                                  struct layer_norm_backward_operands *o)
{
    memset(o, 0, sizeof(*o));
    int lead = e->rank - e->ndim;
    const int64_t *row = e->shape + lead;
    norm_make_x(b, e, &o->x);
    harness_input(b, &o->dy, e->out, e->rank, e->shape, e->layout_out,
                  norm_finite(e) ? FILL_NORMAL : FILL_ONES);
    o->given_x = layer_norm_backward_copied(b, &o->x);
    o->given_dy = layer_norm_backward_copied(b, &o->dy);
    if (e->gamma)
        harness_input(b, &o->gamma, e->param, e->ndim, row, e->layout_param,
                      FILL_NORMAL);
    if (e->stats != 0)
        layer_norm_backward_make_stats(b, e, p, o);
    if ((e->outputs & DGAMMA) != 0)
        harness_output(b, &o->dgamma, e->param, e->ndim, row, e->layout_param);
    if ((e->outputs & DBETA) != 0 && !e->rms)
        harness_output(b, &o->dbeta, SSQ_F32, e->ndim, row, LAYOUT_PADDED);
    if ((e->outputs & DX) == 0)
        return;
    if (e->place != 0)
        o->dx = e->place == 1 ? o->x : o->dy;
    else
        harness_output(b, &o->dx, e->grad, e->rank, e->shape, e->layout_in);
}

static ssq_status
layer_norm_backward_call(struct harness *b, const struct norm_entry *e,
                         const struct layer_norm_backward_operands *o)
{
    ssq_layer_norm_backward_args a = SSQ_LAYER_NORM_BACKWARD_INIT;
    ssq_rms_norm_backward_args r = SSQ_RMS_NORM_BACKWARD_INIT;
    a.x = r.x = o->x.t;
    a.gamma = r.gamma = o->gamma.t;
    a.mean = o->mean.t;
    a.rstd = r.rstd = o->rstd.t;
    a.dy = r.dy = o->dy.t;
    a.dx = r.dx = o->dx.t;
    a.dgamma = r.dgamma = o->dgamma.t;
    a.dbeta = o->dbeta.t;
    a.ndim = r.ndim = e->ndim;
    a.eps = r.eps = e->eps;
    return e->rms ? ssq_rms_norm_backward(b->queue, &r)
                  : ssq_layer_norm_backward(b->queue, &a);
}

/* ---- the oracle against differences ---- */

struct layer_norm_backward_weighted {
    const struct norm_problem *p;
    const double *x, *dy;
    double *y, *error;
};

static double
layer_norm_backward_sum_of(const struct layer_norm_backward_weighted *w)
{
    double sum = 0.0;
    norm_forward(w->p, w->x, w->y, w->error);
    for (int64_t i = 0; i < w->p->rows * w->p->n; i++)
        sum += w->dy[i] * w->y[i];
    return sum;
}

static double layer_norm_backward_of_x(const void *data, const double *x)
{
    struct layer_norm_backward_weighted w =
        *(const struct layer_norm_backward_weighted *)data;
    w.x = x;
    return layer_norm_backward_sum_of(&w);
}

static double layer_norm_backward_of_gamma(const void *data,
                                           const double *gamma)
{
    struct layer_norm_backward_weighted w =
        *(const struct layer_norm_backward_weighted *)data;
    struct norm_problem p = *w.p;
    p.gamma = gamma;
    w.p = &p;
    return layer_norm_backward_sum_of(&w);
}

/* y = z gamma is linear in gamma. Along one x of a row, with s = rstd,
 * v = var: |v'| <= 2 / (s sqrt(n)), v'' <= 2 / n, so |s''| <= 4 s^3 / n and
 * |s'''| <= 24 s^4 / n^1.5; |x - mean| <= sqrt(n) / s. Then
 * |z'''| <= 24 s^3 / n + 3 * 4 s^3 / n, and the sum over the row at most
 * 36 s^3 / n sum |g|; twice that while s changes within a step of 2^-13 / s. */
static bool
layer_norm_backward_differentiable(struct harness *b,
                                   const struct norm_problem *p,
                                   const struct layer_norm_backward_operands *o,
                                   const double *dx, const double *dgamma)
{
    size_t n = (size_t)(p->rows * p->n);
    if (n == 0 || n > 150 || p->rstd != NULL)
        return true;
    double most = 0.0, sum = 0.0, size = 1.0;
    for (int64_t r = 0; r < p->rows; r++) {
        struct norm_facts f = norm_facts_of(p, o->given_x, r);
        double row = 0.0;
        for (int64_t k = 0; k < p->n; k++) {
            int64_t i = r * p->n + k;
            double g = fabs(o->given_dy[i]);
            size += g * (1.0 + fabs(o->given_x[i]) * f.rstd);
            g *= p->gamma == NULL ? 1.0 : fabs(p->gamma[k]);
            row += g;
            size += g * (1.0 + fabs(o->given_x[i]) * f.rstd);
        }
        sum = fmax(sum, row);
        most = fmax(most, f.rstd);
    }
    if (!(most < 1e6))
        return true; /* no variance and no eps: not differentiable */
    struct layer_norm_backward_weighted w = {
        p, o->given_x, o->given_dy, harness_alloc(b, n * sizeof(double)),
        harness_alloc(b, n * sizeof(double))};
    double *ones = harness_alloc(b, (size_t)p->n * sizeof(double));
    for (int64_t k = 0; k < p->n; k++)
        ones[k] = p->gamma == NULL ? 1.0 : p->gamma[k];
    double third = 72.0 * most * most * most / (double)p->n * sum;
    double *x = harness_alloc(b, n * sizeof(double));
    memcpy(x, o->given_x, n * sizeof(double));
    return difference_check(b, layer_norm_backward_of_x, &w, x, n, dx,
                            0x1p-13 / most, third, size) &&
           difference_check(b, layer_norm_backward_of_gamma, &w, ones,
                            (size_t)p->n, dgamma, 0x1p-13, 0.0, size);
}

/* ---- the case ---- */

struct wants {
    double *dx, *dx_error, *dgamma, *dgamma_error, *dbeta, *dbeta_error;
};

static bool wants_of(struct harness *b, const struct norm_problem *p,
                     const struct layer_norm_backward_operands *o, bool finite,
                     struct wants *w)
{
    size_t n = (size_t)(p->rows * p->n), row = (size_t)p->n;
    bool fresh;
    w->dx = harness_keep(b, 0, n, &fresh);
    w->dx_error = harness_keep(b, 1, n, &fresh);
    w->dgamma = harness_keep(b, 2, row, &fresh);
    w->dgamma_error = harness_keep(b, 3, row, &fresh);
    w->dbeta = harness_keep(b, 4, row, &fresh);
    w->dbeta_error = harness_keep(b, 5, row, &fresh);
    if (!fresh)
        return true;
    bool flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    norm_backward(p, o->given_x, o->given_dy, bound_tiny(flushed), w->dx,
                  w->dx_error);
    norm_backward_sums(p, o->given_x, o->given_dy, w->dgamma, w->dgamma_error,
                       w->dbeta, w->dbeta_error);
    return !finite ||
           layer_norm_backward_differentiable(b, p, o, w->dx, w->dgamma);
}

static bool layer_norm_backward_run_entry(struct harness *b,
                                          const struct norm_entry *e)
{
    struct norm_problem p = norm_problem_of(e);
    struct layer_norm_backward_operands o;
    struct wants w;
    layer_norm_backward_make_operands(b, e, &p, &o);
    p.gamma = o.gamma.value;
    if (e->stats != 0) {
        p.mean = o.mean.value;
        p.rstd = o.rstd.value;
    }
    b->flops = 16.0 * (double)o.x.n;
    b->bytes = (double)o.x.n *
               (2.0 * ssq_dtype_bits(e->in) + ssq_dtype_bits(e->out)) / 8.0;
    HARNESS_OP(b, layer_norm_backward_call(b, e, &o));
    if (!wants_of(b, &p, &o, norm_finite(e), &w))
        return false;
    if ((e->outputs & DX) != 0) {
        harness_read(b, &o.dx);
        harness_bound(b, &o.dx, w.dx, w.dx_error);
    }
    if ((e->outputs & DGAMMA) != 0) {
        harness_read(b, &o.dgamma);
        harness_bound(b, &o.dgamma, w.dgamma, w.dgamma_error);
    }
    if ((e->outputs & DBETA) != 0 && !e->rms) {
        harness_read(b, &o.dbeta);
        harness_bound(b, &o.dbeta, w.dbeta, w.dbeta_error);
    }
    return !b->failed;
}

/* Statistics computed again give the bits that saved ones give. */
static bool layer_norm_backward_run_again(struct harness *b)
{
    const int64_t shape[] = {37, 41};
    struct operand x, y, mean, rstd, dy, dx[2];
    harness_input(b, &x, SSQ_F16, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F16, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_output(b, &mean, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &rstd, SSQ_F32, 1, shape, LAYOUT_DENSE);
    ssq_layer_norm_args f = SSQ_LAYER_NORM_INIT;
    f.x = x.t;
    f.y = y.t;
    f.mean = mean.t;
    f.rstd = rstd.t;
    HARNESS_OP(b, ssq_layer_norm(b->queue, &f));
    for (int k = 0; k < 2; k++) {
        harness_output(b, &dx[k], SSQ_F32, 2, shape, LAYOUT_DENSE);
        ssq_layer_norm_backward_args a = SSQ_LAYER_NORM_BACKWARD_INIT;
        a.x = x.t;
        a.dy = dy.t;
        a.dx = dx[k].t;
        a.mean = k == 0 ? mean.t : NULL;
        a.rstd = k == 0 ? rstd.t : NULL;
        HARNESS_OP(b, ssq_layer_norm_backward(b->queue, &a));
        harness_read(b, &dx[k]);
    }
    return harness_bits(b, &dx[1], dx[0].bits);
}

static bool layer_norm_backward_refused(struct harness *b,
                                        const ssq_layer_norm_backward_args *a,
                                        const char *text)
{
    harness_refused(b, SSQ_ERR_INVALID, ssq_layer_norm_backward(b->queue, a));
    return strcmp(ssq_last_error(), text) == 0 ||
           harness_fail(b, "the text is: %s", ssq_last_error());
}

static bool layer_norm_backward_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3};
    struct operand x, dy, dx, stat;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &dx, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_input(b, &stat, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    ssq_layer_norm_backward_args good = SSQ_LAYER_NORM_BACKWARD_INIT;
    good.x = x.t;
    good.dy = dy.t;
    good.dx = dx.t;
    ssq_layer_norm_backward_args a = good;
    a.mean = stat.t;
    bool ok = layer_norm_backward_refused(
        b, &a,
        "layer_norm_backward: rstd is NULL, but not mean: give "
        "both or none");
    a = good;
    a.dx = NULL;
    ok = ok && layer_norm_backward_refused(
                   b, &a,
                   "layer_norm_backward: no output: dx, dgamma, dbeta are "
                   "NULL");
    a = good;
    a.dgamma = stat.t;
    ok = ok && layer_norm_backward_refused(
                   b, &a,
                   "layer_norm_backward: dgamma is [2], expected the last "
                   "1 sizes of x, [2,3]");
    a = good;
    a.dx = x.t;
    a.dbeta = x.t;
    ok = ok && layer_norm_backward_refused(
                   b, &a, "layer_norm_backward: dx overlaps dbeta");
    uint32_t before[6];
    memcpy(before, dx.bits, sizeof(before));
    harness_read(b, &dx);
    return ok && harness_bits(b, &dx, before);
}

#define DRAWN 288

static void layer_norm_backward_describe(size_t i, char *text, size_t bytes)
{
    struct norm_entry e;
    static const char again[] = "layer_norm_backward 37x41 gives the same bits "
                                "when it computes the statistics again";
    static const char wrong[] = "layer_norm_backward refuses wrong arguments";
    if (i < DRAWN) {
        e = norm_entry_of(i);
        norm_entry_text(&e, true, text, bytes);
        return;
    }
    const char *s = i == DRAWN ? again : wrong;
    size_t n = strlen(s) < bytes ? strlen(s) : bytes - 1;
    memcpy(text, s, n);
    text[n] = '\0';
}

static bool layer_norm_backward_run(struct harness *b, size_t i)
{
    if (i >= DRAWN)
        return i == DRAWN ? layer_norm_backward_run_again(b)
                          : layer_norm_backward_run_refusals(b);
    struct norm_entry e = norm_entry_of(i);
    return layer_norm_backward_run_entry(b, &e);
}

extern const struct suite layer_norm_backward_suite;
const struct suite layer_norm_backward_suite = {
    .op = "layer_norm_backward",
    .name = "layer_norm_backward",
    .n = DRAWN + 2,
    .describe = layer_norm_backward_describe,
    .run = layer_norm_backward_run,
    .floor = 550};
