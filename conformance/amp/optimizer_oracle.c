/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_oracle.c - torch's optimizers in float64, with running bounds: what
 * the kinds have in common, and lamb, whose steps need a whole tensor. The
 * steps of the others are in optimizer.c. */
#include "conformance/amp/optimizer_oracle.h"

struct num oracle_complement(double b)
{
    return num_const(1.0 - b);
}

/* 1 - b^t by float32 pairs: kernels/scalar/pair.h promises t 2^-43 for the
 * power, and drops what is below 2^-60; then one rounding. */
struct num oracle_correction(double b, unsigned t)
{
    return num_round(1.0 - pow(b, t), t * 0x1p-43 + 0x1p-60);
}

/* ||x|| over n elements: the effect of the elements' errors, then the bound of
 * ssq_norm: (chain + 2 + 8) / 2 + 1 roundings, chain min(n, 64) + 8. */
static struct num optimizer_oracle_norm_of(double squares, double error_squares,
                                           double n)
{
    double v = sqrt(squares), chain = fmin(n, 64.0) + 8.0;
    double e = sqrt(error_squares);
    return (struct num){v,
                        e + ((chain + 10.0) / 2.0 + 1.0) * RUNNING_U * (v + e)};
}

/* The coefficient of clipping and lamb's divisor, from the gradients. */
static void coefficients(const struct oracle *o, const double (*g)[MOST],
                         struct num *coef, struct num *divisor)
{
    const struct config *c = o->c;
    double squares = 0.0, n = 0.0;
    for (int k = 0; k < TENSORS; k++)
        for (int64_t i = 0; i < o->n[k]; i++, n++)
            squares += g[k][i] * g[k][i];
    struct num norm = optimizer_oracle_norm_of(squares, 0.0, n),
               one = num_exact(1.0);
    /* the partials of the tensors are folded once more: 2 additions */
    norm.e += 2.0 * RUNNING_U * norm.v;
    *coef = one;
    if (c->clip > 0.0)
        *coef = num_min(
            one, num_div(num_const(c->clip), num_add(norm, num_const(1e-6))));
    *divisor = one;
    if (o->kind->step == NULL && c->max_norm > 0.0)
        *divisor =
            num_max(one, num_div(num_mul(norm, *coef), num_const(c->max_norm)));
}

struct num oracle_decayed(const struct oracle *o, struct num g, struct num p)
{
    return o->c->decay == 0.0 ? g
                              : num_add(g, num_mul(num_const(o->c->decay), p));
}

struct num oracle_mix(struct num x, struct num g, struct num b, struct num c)
{
    return num_add(num_mul(b, x), num_mul(c, g));
}

struct num oracle_lerp(struct num x, struct num g, struct num c)
{
    return num_add(x, num_mul(c, num_sub(g, x)));
}

struct num oracle_squares(struct num x, struct num g, struct num b,
                          struct num c)
{
    return num_add(num_mul(b, x), num_mul(num_mul(c, g), g));
}

struct num oracle_apex(const struct oracle *o, struct num m, struct num v,
                       struct num p)
{
    struct num one = num_exact(1.0);
    struct num bc1 = o->c->no_bias ? one : oracle_correction(o->betas[0], o->t);
    struct num bc2 = o->c->no_bias ? one : oracle_correction(o->betas[1], o->t);
    struct num denom = num_add(num_sqrt(num_div(v, bc2)), num_const(o->eps));
    return oracle_decayed(o, num_div(num_div(m, bc1), denom), p);
}

/* A whole tensor: its norms set the length of the step. */
static void step_lamb(struct oracle *o, int k, const struct num *g,
                      struct num lr)
{
    const struct config *c = o->c;
    int64_t n = o->n[k];
    double sum[2] = {0.0, 0.0}, error[2] = {0.0, 0.0};
    struct num u[MOST];
    struct num c1 =
        c->no_average ? num_exact(1.0) : oracle_complement(o->betas[0]);
    for (int64_t i = 0; i < n; i++) {
        struct num *m = &o->s[0][k][i], *v = &o->s[1][k][i], p = o->p[k][i];
        *m = oracle_mix(*m, g[i], num_const(o->betas[0]), c1);
        *v = oracle_squares(*v, g[i], num_const(o->betas[1]),
                            oracle_complement(o->betas[1]));
        u[i] = oracle_apex(o, *m, *v, p);
        sum[0] += p.v * p.v;
        error[0] += p.e * p.e;
        sum[1] += u[i].v * u[i].v;
        error[1] += u[i].e * u[i].e;
    }
    struct num ratio = lr;
    if (n > 0 && (c->decay != 0.0 || c->nvlamb))
        ratio = num_mul(
            lr, num_div(optimizer_oracle_norm_of(sum[0], error[0], (double)n),
                        optimizer_oracle_norm_of(sum[1], error[1], (double)n)));
    for (int64_t i = 0; i < n; i++)
        o->p[k][i] = num_sub(o->p[k][i], num_mul(ratio, u[i]));
}

/* A stochastic store is less than one unit in the last place off: 2 u |x|, or
 * the spacing of the subnormals. */
static void store_stochastically(struct oracle *o, struct num *p)
{
    p->e += 2.0 * bound_u(o->param) * (fabs(p->v) + p->e) +
            2.0 * bound_eta(o->param);
}

void oracle_step(struct oracle *o, const double (*g)[MOST])
{
    struct num coef, divisor, x[MOST];
    o->t++;
    coefficients(o, g, &coef, &divisor);
    for (int k = 0; k < TENSORS; k++) {
        struct num lr = num_const(o->lr[k]);
        int64_t n = o->n[k];
        for (int64_t i = 0; i < n; i++) {
            x[i] = num_exact(g[k][i]);
            if (o->c->clip > 0.0)
                x[i] = num_mul(x[i], coef);
            x[i] = o->c->maximize ? num_neg(x[i]) : x[i];
            if (o->kind->step == NULL && o->c->max_norm > 0.0)
                x[i] = num_div(x[i], divisor);
        }
        if (o->kind->step == NULL)
            step_lamb(o, k, x, lr);
        for (int64_t i = 0; i < n; i++) {
            if (o->kind->step != NULL)
                o->p[k][i] = o->kind->step(o, k, i, x[i], lr);
            if (o->stochastic)
                store_stochastically(o, &o->p[k][i]);
        }
    }
}

void oracle_begin(struct oracle *o, const struct config *c, ssq_dtype param,
                  bool stochastic)
{
    const struct oracle_kind *kind = oracle_kinds;
    while (strcmp(kind->name, c->kind) != 0)
        kind++;
    *o = (struct oracle){.c = c,
                         .kind = kind,
                         .betas = {0.9, 0.999},
                         .alpha = c->alpha != 0.0 ? c->alpha : kind->alpha,
                         .eps = c->eps != 0.0 ? c->eps : kind->eps,
                         .param = param,
                         .stochastic = stochastic};
    for (int k = 0; k < TENSORS; k++)
        for (int i = 0; i < MOST; i++)
            o->s[0][k][i] = num_const(c->initial);
}
