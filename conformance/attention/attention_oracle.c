/* SPDX-License-Identifier: Apache-2.0 */
/* attention_oracle.c - attention and its gradients in float64, with the bounds
 * of float32 results: every weight P has its own interval. */
#include "conformance/attention/attention.h"

#include "conformance/bounds_attention.h"

#include <stdlib.h>

struct attention_oracle_row {
    const struct attention_facts *f;
    int64_t at;    /* of the query, in [batch, heads, tq] */
    int64_t key;   /* of its head's first key, in [batch, kv_heads, tk] */
    double *s, *e; /* scores and their errors */
    double *g, *h; /* capped: derivatives of s, errors of s before it */
    double *p, *w; /* weights and their errors */
    double eta;
};

static struct attention_oracle_row row_make(const struct attention_facts *f)
{
    size_t n = (size_t)f->c->tk + 1;
    double *m = calloc(6 * n, sizeof(*m));
    if (m == NULL)
        abort();
    return (struct attention_oracle_row){.f = f,
                                         .s = m,
                                         .e = m + n,
                                         .p = m + 2 * n,
                                         .w = m + 3 * n,
                                         .g = m + 4 * n,
                                         .h = m + 5 * n,
                                         .eta =
                                             bound_attention_eta(f->flushed)};
}

/* Score j, its product s with no mask being off by e, under a cap. */
static void cap_score(struct attention_oracle_row *r, int64_t j, double s,
                      double e, double bias)
{
    double cap = (double)(float)r->f->c->softcap, t = tanh(s / cap);
    r->h[j] = e;
    r->g[j] = 1.0 / (cosh(s / cap) * cosh(s / cap));
    r->s[j] = bias == -(double)INFINITY ? bias : cap * t + bias;
    r->e[j] = bound_attention_capped(e, cap, bias, r->eta);
}

static void row_scores(struct attention_oracle_row *r, int64_t b, int64_t h,
                       int64_t i)
{
    const struct attention_facts *f = r->f;
    const struct attention_case *c = f->c;
    int64_t group = c->heads / c->kv_heads;
    r->at = (b * c->heads + h) * c->tq + i;
    r->key = (b * c->kv_heads + h / group) * c->tk;
    for (int64_t j = 0; j < c->tk; j++) {
        const double *q = f->q + r->at * c->d, *k = f->k + (r->key + j) * c->d;
        double bias = f->bias[r->at * c->tk + j], dot = 0.0, size = 0.0;
        for (int64_t n = 0; n < c->d; n++) {
            dot += q[n] * k[n];
            size += fabs(q[n] * k[n]);
        }
        r->s[j] = bias == -(double)INFINITY ? bias : f->scale * dot + bias;
        size = fabs(f->scale) * size + (c->softcap != 0.0 ? 0.0 : fabs(bias));
        r->e[j] = bound_attention_score((double)c->d, size, f->scale, r->eta);
        if (c->softcap != 0.0)
            cap_score(r, j, f->scale * dot, r->e[j], bias);
    }
}

static bool excluded(const struct attention_oracle_row *r, int64_t j)
{
    return r->s[j] == -(double)INFINITY;
}

/* log(sum(exp(s + sign e))) over the keys that count. */
static double log_sum(const struct attention_oracle_row *r, double sign)
{
    double m = -(double)INFINITY, sum = 0.0;
    int64_t n = r->f->c->tk;
    for (int64_t j = 0; j < n; j++)
        if (!excluded(r, j))
            m = fmax(m, r->s[j] + sign * r->e[j]);
    for (int64_t j = 0; j < n; j++)
        if (!excluded(r, j))
            sum += exp(r->s[j] + sign * r->e[j] - m);
    return sum == 0.0 ? m : m + log(sum);
}

/* exp(a) / (exp(a) + the rest of total), total = exp(log_total) over all keys,
 * of which key j's share is exp(own). */
static double attention_oracle_share(double a, double own, double log_total)
{
    double rest = fmax(1.0 - exp(own - log_total), 0.0);
    return rest == 0.0 ? 1.0 : 1.0 / (1.0 + rest * exp(log_total - a));
}

/* The forward weights: the score of a key at one end of its interval, and all
 * others at the other end. @return lse */
static double row_weights(struct attention_oracle_row *r, double *lse_error)
{
    const struct attention_case *c = r->f->c;
    double lse = log_sum(r, 0.0), m = -(double)INFINITY;
    for (int64_t j = 0; j < c->tk; j++)
        m = fmax(m, r->s[j]);
    for (int64_t j = 0; j < c->tk; j++)
        r->e[j] = bound_attention_exponent(r->e[j], r->s[j] - m);
    double high = log_sum(r, 1.0), low = log_sum(r, -1.0);
    double total = bound_attention_total((double)c->tk, r->eta);
    *lse_error =
        bound_attention_lse(fmax(high - lse, lse - low), total, lse, lse - m);
    for (int64_t j = 0; j < c->tk; j++) {
        r->p[j] = r->w[j] = 0.0;
        if (excluded(r, j))
            continue;
        double up = r->s[j] + r->e[j], down = r->s[j] - r->e[j];
        double most = attention_oracle_share(up, down, low) * (1.0 + total);
        double least = attention_oracle_share(down, up, high) * (1.0 - total);
        r->p[j] = exp(r->s[j] - lse);
        r->w[j] = fmax(most - r->p[j], r->p[j] - least) + r->eta;
    }
    return lse;
}

/* f P in c's dtype, and its error. */
static double factored(const struct attention_oracle_row *r, int64_t j,
                       double *error)
{
    double f = r->f->factor[r->at * r->f->c->tk + j];
    *error =
        bound_attention_round(f * r->p[j], f * r->w[j] + r->eta, r->f->c->in);
    return f * r->p[j];
}

static void row_output(const struct attention_oracle_row *r, double *y,
                       double *y_error)
{
    const struct attention_case *c = r->f->c;
    for (int64_t n = 0; n < c->dv; n++) {
        double sum = 0.0, weighted = 0.0, size = 0.0, error;
        for (int64_t j = 0; j < c->tk; j++) {
            if (excluded(r, j))
                continue;
            double p = factored(r, j, &error);
            double v = r->f->v[(r->key + j) * c->dv + n];
            sum += p * v;
            weighted += error * fabs(v);
            size += (p + error) * fabs(v);
        }
        y[n] = sum;
        y_error[n] = bound_attention_sum((double)c->tk, weighted, size, r->eta);
    }
}

void attention_oracle(const struct attention_facts *f, struct attention_want y,
                      struct attention_want lse)
{
    const struct attention_case *c = f->c;
    struct attention_oracle_row r = row_make(f);
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t i = 0; i < c->tq; i++) {
                row_scores(&r, b, h, i);
                lse.want[r.at] = row_weights(&r, &lse.error[r.at]);
                row_output(&r, y.want + r.at * c->dv, y.error + r.at * c->dv);
            }
    free(r.s);
}

/* ---- gradients ---- */

/* A sum in progress: error holds the weighted errors, size the absolute values.
 */
struct sums {
    struct attention_want to;
    double *size;
};

static struct sums sums_make(struct attention_want to, int64_t n)
{
    struct sums s = {to, calloc((size_t)n + 1, sizeof(double))};
    if (s.size == NULL)
        abort();
    for (int64_t i = 0; i < n; i++)
        to.want[i] = to.error[i] = 0.0;
    return s;
}

/* += weight x, elementwise. */
static void sums_add(struct sums *s, int64_t at, double weight, double error,
                     const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        s->to.want[at + i] += weight * x[i];
        s->to.error[at + i] += error * fabs(x[i]);
        s->size[at + i] += (fabs(weight) + error) * fabs(x[i]);
    }
}

static void sums_end(struct sums *s, int64_t elements, double terms,
                     double factor, double eta)
{
    double a = fabs(factor);
    for (int64_t i = 0; i < elements; i++) {
        s->to.want[i] *= factor;
        s->to.error[i] = bound_attention_sum(terms, a * s->to.error[i],
                                             a * s->size[i], (1.0 + a) * eta);
    }
    free(s->size);
}

/* The rounding error of a given lse, if it is large. The work is w. */
static double row_rest(const struct attention_oracle_row *r, double lse,
                       double *error)
{
    const int64_t n = r->f->c->tk;
    double m = -(double)INFINITY, range = attention_rest_range(lse);
    *error = 0.0;
    if (!(fabs(lse) > ATTENTION_LARGE_LSE && isfinite(lse)))
        return 0.0;
    for (int64_t j = 0; j < n; j++)
        m = fmax(m, r->s[j]);
    struct attention_oracle_row x = *r;
    x.e = r->w;
    for (int64_t j = 0; j < n; j++)
        x.e[j] = bound_attention_exponent(r->e[j], r->s[j] - m);
    double whole = log_sum(&x, 0.0);
    double moved = fmax(log_sum(&x, 1.0) - whole, whole - log_sum(&x, -1.0));
    *error =
        bound_attention_rest(moved, bound_attention_total((double)n, r->eta),
                             m - lse, whole - m, lse);
    return fmax(-range, fmin(range, whole - lse));
}

/* exp((s - lse) - rest), lse given. */
static void row_saved(struct attention_oracle_row *r, double lse)
{
    double off, rest = row_rest(r, lse, &off);
    off += 2.0 * U_F32 * fabs(rest);
    for (int64_t j = 0; j < r->f->c->tk; j++) {
        r->p[j] = r->w[j] = 0.0;
        if (excluded(r, j))
            continue;
        double t = r->s[j] - lse - rest;
        double e = bound_attention_exponent(r->e[j] + off, t);
        r->p[j] = exp(t);
        r->w[j] = fmax(exp(t + e) - r->p[j], r->p[j] - exp(t - e)) + r->eta;
    }
}

struct gradients {
    struct sums dq, dk, dv;
};

static void row_gradients(const struct attention_oracle_row *r, const double *y,
                          const double *dy, struct gradients *g)
{
    const struct attention_facts *f = r->f;
    const struct attention_case *c = f->c;
    double delta = 0.0, size_delta = 0.0, error;
    for (int64_t n = 0; n < c->dv; n++) {
        delta += dy[n] * y[n];
        size_delta += fabs(dy[n] * y[n]);
    }
    for (int64_t j = 0; j < c->tk; j++) {
        if (excluded(r, j))
            continue;
        const double *v = f->v + (r->key + j) * c->dv;
        double factor = f->factor[r->at * c->tk + j], dp = 0.0, size_dp = 0.0;
        for (int64_t n = 0; n < c->dv; n++) {
            dp += dy[n] * v[n];
            size_dp += fabs(dy[n] * v[n]);
        }
        double p = factored(r, j, &error);
        sums_add(&g->dv, (r->key + j) * c->dv, p, error, dy, c->dv);
        double slope = factor * dp - delta, ds = r->p[j] * slope;
        error = bound_attention_slope((double)c->dv, r->p[j], r->w[j], slope,
                                      factor * size_dp, size_delta,
                                      (1.0 + factor) * r->eta);
        if (c->softcap != 0.0) {
            error = bound_attention_capped_slope(
                ds, error, r->g[j], r->h[j], (double)(float)c->softcap, r->eta);
            ds *= r->g[j];
        }
        error = bound_attention_round(ds, error, c->in);
        sums_add(&g->dq, r->at * c->d, ds, error, f->k + (r->key + j) * c->d,
                 c->d);
        sums_add(&g->dk, (r->key + j) * c->d, ds, error, f->q + r->at * c->d,
                 c->d);
    }
}

void attention_backward_oracle(const struct attention_facts *f, const double *y,
                               const double *lse, const double *dy,
                               struct attention_want dq,
                               struct attention_want dk,
                               struct attention_want dv)
{
    const struct attention_case *c = f->c;
    int64_t rows = c->batch * c->heads * c->tq;
    int64_t keys = c->batch * c->kv_heads * c->tk;
    struct attention_oracle_row r = row_make(f);
    struct gradients g = {sums_make(dq, rows * c->d),
                          sums_make(dk, keys * c->d),
                          sums_make(dv, keys * c->dv)};
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t i = 0; i < c->tq; i++) {
                row_scores(&r, b, h, i);
                if (lse[r.at] == -(double)INFINITY)
                    continue;
                row_saved(&r, lse[r.at]);
                row_gradients(&r, y + r.at * c->dv, dy + r.at * c->dv, &g);
            }
    double group = c->kv_heads == 0 ? 0.0 : (double)(c->heads / c->kv_heads);
    sums_end(&g.dq, rows * c->d, (double)c->tk, f->scale, r.eta);
    sums_end(&g.dk, keys * c->d, group * (double)c->tq, f->scale, r.eta);
    sums_end(&g.dv, keys * c->dv, group * (double)c->tq, 1.0, r.eta);
    free(r.s);
}
