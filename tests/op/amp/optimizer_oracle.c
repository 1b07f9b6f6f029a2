/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_oracle.c - torch's optimizers in float64, with running bounds. */
#include "tests/op/amp/optimizer_oracle.h"

static bool is(const struct oracle *o, const char *kind)
{
    return strcmp(o->c->kind, kind) == 0;
}

/* 1 - b formed in double, rounded once. */
static struct num complement(double b)
{
    return num_const(1.0 - b);
}

/* 1 - b^t by float32 pairs: kernels/scalar/pair.h promises t 2^-43 for the
 * power, and drops what is below 2^-60; then one rounding. */
static struct num correction(double b, unsigned t)
{
    return num_round(1.0 - pow(b, t), t * 0x1p-43 + 0x1p-60);
}

/* ||x|| over n elements: what the elements' errors do, then the bound of
 * ssq_norm: (chain + 2 + 8) / 2 + 1 roundings, chain min(n, 64) + 8. */
static struct num norm_of(double squares, double error_squares, double n)
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
    struct num norm = norm_of(squares, 0.0, n), one = num_exact(1.0);
    /* the partials of the tensors are folded once more: 2 additions */
    norm.e += 2.0 * RUNNING_U * norm.v;
    *coef = one;
    if (c->clip > 0.0)
        *coef = num_min(
            one, num_div(num_const(c->clip), num_add(norm, num_const(1e-6))));
    *divisor = one;
    if (is(o, "lamb") && c->max_norm > 0.0)
        *divisor =
            num_max(one, num_div(num_mul(norm, *coef), num_const(c->max_norm)));
}

/* g += decay p */
static struct num decayed(const struct oracle *o, struct num g, struct num p)
{
    return o->c->decay == 0.0 ? g
                              : num_add(g, num_mul(num_const(o->c->decay), p));
}

static struct num mix(struct num x, struct num g, struct num b, struct num c)
{
    return num_add(num_mul(b, x), num_mul(c, g));
}

/* torch.lerp(x, g, c) for c < 1/2 */
static struct num lerp(struct num x, struct num g, struct num c)
{
    return num_add(x, num_mul(c, num_sub(g, x)));
}

static struct num squares(struct num x, struct num g, struct num b,
                          struct num c)
{
    return num_add(num_mul(b, x), num_mul(num_mul(c, g), g));
}

static struct num step_sgd(struct oracle *o, int k, int64_t i, struct num g,
                           struct num lr)
{
    const struct config *c = o->c;
    struct num *buf = &o->s[0][k][i], mu = num_const(c->momentum);
    g = decayed(o, g, o->p[k][i]);
    if (c->momentum != 0.0) {
        *buf = o->t == 1 ? g : mix(*buf, g, mu, complement(c->dampening));
        g = c->nesterov ? num_add(g, num_mul(mu, *buf)) : *buf;
    }
    return num_sub(o->p[k][i], num_mul(lr, g));
}

/* m_hat / (sqrt(v_hat) + eps) + decay p */
static struct num apex_update(const struct oracle *o, struct num m,
                              struct num v, struct num p)
{
    struct num one = num_exact(1.0);
    struct num bc1 = o->c->no_bias ? one : correction(o->betas[0], o->t);
    struct num bc2 = o->c->no_bias ? one : correction(o->betas[1], o->t);
    struct num denom = num_add(num_sqrt(num_div(v, bc2)), num_const(o->eps));
    return decayed(o, num_div(num_div(m, bc1), denom), p);
}

static struct num step_adam(struct oracle *o, int k, int64_t i, struct num g,
                            struct num lr)
{
    const struct config *c = o->c;
    struct num *m = &o->s[0][k][i], *v = &o->s[1][k][i], *x = &o->s[2][k][i];
    struct num b1 = num_const(o->betas[0]), b2 = num_const(o->betas[1]);
    struct num p = o->p[k][i];
    bool apex = c->form == SSQ_ADAM_APEX;
    if (is(o, "adam"))
        g = decayed(o, g, p);
    *m = apex ? mix(*m, g, b1, complement(o->betas[0]))
              : lerp(*m, g, complement(o->betas[0]));
    *v = squares(*v, g, b2, complement(o->betas[1]));
    if (apex)
        return num_sub(p, num_mul(lr, apex_update(o, *m, *v, p)));
    if (is(o, "adamw") && c->decay != 0.0)
        p = num_mul(p,
                    num_sub(num_exact(1.0), num_mul(lr, num_const(c->decay))));
    struct num top = *v;
    if (c->amsgrad)
        top = *x = num_max(*x, *v);
    struct num root2 = num_sqrt(correction(o->betas[1], o->t));
    struct num denom =
        num_add(num_div(num_sqrt(top), root2), num_const(o->eps));
    struct num size = num_div(lr, correction(o->betas[0], o->t));
    return num_sub(p, num_div(num_mul(size, *m), denom));
}

static struct num step_rmsprop(struct oracle *o, int k, int64_t i, struct num g,
                               struct num lr)
{
    const struct config *c = o->c;
    struct num *sq = &o->s[0][k][i], *buf = &o->s[1][k][i];
    struct num *mean = &o->s[2][k][i], zero = num_exact(0.0);
    g = decayed(o, g, o->p[k][i]);
    *sq = squares(*sq, g, num_const(o->alpha), complement(o->alpha));
    struct num v = *sq;
    if (c->centered) {
        *mean = lerp(*mean, g, complement(o->alpha));
        v = num_max(zero, num_sub(*sq, num_mul(*mean, *mean)));
    }
    struct num denom = num_add(num_sqrt(v), num_const(o->eps));
    if (c->momentum == 0.0)
        return num_sub(o->p[k][i], num_div(num_mul(lr, g), denom));
    *buf = num_add(num_mul(num_const(c->momentum), *buf), num_div(g, denom));
    return num_sub(o->p[k][i], num_mul(lr, *buf));
}

static struct num step_adagrad(struct oracle *o, int k, int64_t i, struct num g,
                               struct num lr)
{
    const struct config *c = o->c;
    struct num *sum = &o->s[0][k][i], one = num_exact(1.0);
    struct num slow =
        num_add(one, num_mul(num_exact(o->t - 1), num_const(c->lr_decay)));
    g = decayed(o, g, o->p[k][i]);
    *sum = num_add(*sum, num_mul(g, g));
    struct num denom = num_add(num_sqrt(*sum), num_const(o->eps));
    return num_sub(o->p[k][i], num_div(num_mul(num_div(lr, slow), g), denom));
}

/* A whole tensor: its norms set the length of the step. */
static void step_lamb(struct oracle *o, int k, const struct num *g,
                      struct num lr)
{
    const struct config *c = o->c;
    int64_t n = o->n[k];
    double sum[2] = {0.0, 0.0}, error[2] = {0.0, 0.0};
    struct num u[MOST];
    struct num c1 = c->no_average ? num_exact(1.0) : complement(o->betas[0]);
    for (int64_t i = 0; i < n; i++) {
        struct num *m = &o->s[0][k][i], *v = &o->s[1][k][i], p = o->p[k][i];
        *m = mix(*m, g[i], num_const(o->betas[0]), c1);
        *v = squares(*v, g[i], num_const(o->betas[1]), complement(o->betas[1]));
        u[i] = apex_update(o, *m, *v, p);
        sum[0] += p.v * p.v;
        error[0] += p.e * p.e;
        sum[1] += u[i].v * u[i].v;
        error[1] += u[i].e * u[i].e;
    }
    struct num ratio = lr;
    if (n > 0 && (c->decay != 0.0 || c->nvlamb))
        ratio = num_mul(lr, num_div(norm_of(sum[0], error[0], (double)n),
                                    norm_of(sum[1], error[1], (double)n)));
    for (int64_t i = 0; i < n; i++)
        o->p[k][i] = num_sub(o->p[k][i], num_mul(ratio, u[i]));
}

static struct num step_one(struct oracle *o, int k, int64_t i, struct num g,
                           struct num lr)
{
    if (is(o, "sgd"))
        return step_sgd(o, k, i, g, lr);
    if (is(o, "rmsprop"))
        return step_rmsprop(o, k, i, g, lr);
    if (is(o, "adagrad"))
        return step_adagrad(o, k, i, g, lr);
    return step_adam(o, k, i, g, lr);
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
            if (is(o, "lamb") && o->c->max_norm > 0.0)
                x[i] = num_div(x[i], divisor);
        }
        if (is(o, "lamb"))
            step_lamb(o, k, x, lr);
        for (int64_t i = 0; i < n; i++) {
            if (!is(o, "lamb"))
                o->p[k][i] = step_one(o, k, i, x[i], lr);
            if (o->stochastic)
                store_stochastically(o, &o->p[k][i]);
        }
    }
}

void oracle_begin(struct oracle *o, const struct config *c, ssq_dtype param,
                  bool stochastic)
{
    *o = (struct oracle){.c = c,
                         .betas = {0.9, 0.999},
                         .alpha = 0.99,
                         .eps = 1e-8,
                         .param = param,
                         .stochastic = stochastic};
    if (is(o, "adagrad"))
        o->eps = 1e-10;
    if (is(o, "lamb"))
        o->eps = 1e-6;
    for (int k = 0; k < TENSORS; k++)
        for (int i = 0; i < MOST; i++)
            o->s[0][k][i] = num_const(c->initial);
}
