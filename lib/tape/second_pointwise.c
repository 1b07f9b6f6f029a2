/* SPDX-License-Identifier: Apache-2.0 */
/* second_pointwise.c - rules of functions of one number: dx = dy f'(x).
 *
 * Each f' keeps its relative accuracy, as far as the other ops allow. No
 * intermediate result overflows before f' does. All is computed in float32, for
 * operands of any dtype. */
#include "lib/tape/second.h"

#define SQRT_1_2    0.70710678118654752440
#define SQRT_2_PI   0.79788456080286535588 /* sqrt(2 / pi) */
#define SQRT_1_2PI  0.39894228040143267794 /* 1 / sqrt(2 pi) */
#define GELU_CUBE   0.044715
#define TWO_SQRT_PI 1.12837916709551257390 /* 2 / sqrt(pi) */

/* ---- functions of x ---- */

static ssq_var second_pointwise_sigmoid(const struct chain *c, ssq_var x)
{
    return ssq_sigmoid_var_at(c->n.where, x);
}

static ssq_var exponential(const struct chain *c, ssq_var x)
{
    return ssq_exp_var_at(c->n.where, x);
}

static ssq_var second_pointwise_square(const struct chain *c, ssq_var x)
{
    return ssq_square_var_at(c->n.where, x);
}

static ssq_var second_pointwise_negative(const struct chain *c, ssq_var x)
{
    return ssq_neg_var_at(c->n.where, x);
}

static ssq_var reciprocal(const struct chain *c, ssq_var x)
{
    return ssq_reciprocal_var_at(c->n.where, x);
}

/* s(x) s(-x): the sigmoid's derivative, without the difference 1 - s. */
static ssq_var bell(const struct chain *c, ssq_var x)
{
    return chain_mul(
        c, second_pointwise_sigmoid(c, x),
        second_pointwise_sigmoid(c, second_pointwise_negative(c, x)));
}

/* Give dx = dy times the slope. */
static void second_pointwise_along(struct chain *c, ssq_var slope)
{
    chain_give(c, 0, chain_mul(c, chain_slope(c), slope));
}

/* ---- piecewise linear: dy is selected, since inf times 0 is NaN ---- */

void second_relu(struct chain *c)
{
    ssq_var none = chain_zero(c);
    const ssq_tensor *off = chain_where(c, ssq_le, chain_var(c, 0), none);
    chain_give(c, 0, chain_choose(c, off, none, c->dy));
}

void second_leaky_relu(struct chain *c)
{
    const ssq_leaky_relu_args *args = c->args;
    ssq_var below = chain_times(c, c->dy, args->alpha);
    const ssq_tensor *on =
        chain_where(c, ssq_gt, chain_var(c, 0), chain_zero(c));
    chain_give(c, 0, chain_choose(c, on, c->dy, below));
}

void second_abs(struct chain *c)
{
    ssq_var x = chain_var(c, 0), dy = c->dy, none = chain_zero(c);
    const ssq_tensor *up = chain_where(c, ssq_gt, x, none);
    const ssq_tensor *down = chain_where(c, ssq_lt, x, none);
    ssq_var dx = chain_choose(c, down, second_pointwise_negative(c, dy),
                              chain_times(c, dy, 0));
    chain_give(c, 0, chain_choose(c, up, dy, dx));
}

void second_neg(struct chain *c)
{
    chain_give(c, 0, second_pointwise_negative(c, c->dy));
}

void second_clamp(struct chain *c)
{
    const ssq_clamp_args *args = c->args;
    ssq_var x = chain_var(c, 0), none = chain_zero(c);
    const ssq_tensor *above =
        chain_where(c, ssq_ge, x, chain_number(c, args->min, SSQ_F32));
    const ssq_tensor *below =
        chain_where(c, ssq_le, x, chain_number(c, args->max, SSQ_F32));
    ssq_var dx = chain_choose(c, below, c->dy, none);
    chain_give(c, 0, chain_choose(c, above, dx, none));
}

void second_scale(struct chain *c)
{
    const ssq_scale_args *args = c->args;
    if (!chain_unwritten(c, offsetof(ssq_scale_args, scale)))
        return;
    chain_give(c, 0,
               ssq_scale_var_at(
                   c->n.where, c->dy,
                   SSQ_SCALE(.alpha = args->alpha, .scale = args->scale)));
}

/* The forward call's random numbers are drawn again. */
void second_dropout(struct chain *c)
{
    ssq_dropout_args args = *(const ssq_dropout_args *)c->args;
    if (!chain_unwritten(c, offsetof(ssq_dropout_args, step)))
        return;
    args.x = args.y = args.mask = NULL;
    chain_give(c, 0, ssq_dropout_var_at(c->n.where, c->dy, &args));
}

/* ---- curves ---- */

void second_sigmoid(struct chain *c)
{
    second_pointwise_along(c, bell(c, chain_wide(c, 0)));
}

/* 1 / cosh(x)^2 = 4 s(2x) s(-2x) */
void second_tanh(struct chain *c)
{
    ssq_var x = chain_times(c, chain_wide(c, 0), 2.0);
    second_pointwise_along(c, chain_times(c, bell(c, x), 4.0));
}

/* s + x s(x) s(-x) */
void second_silu(struct chain *c)
{
    ssq_var x = chain_wide(c, 0);
    second_pointwise_along(c, chain_add(c, second_pointwise_sigmoid(c, x),
                                        chain_mul(c, x, bell(c, x))));
}

/* P(x) + x p(x), with the normal distribution P and its density p */
void second_gelu(struct chain *c)
{
    ssq_var x = chain_wide(c, 0);
    ssq_var erf = ssq_erf_var_at(c->n.where, chain_times(c, x, SQRT_1_2));
    ssq_var whole = chain_times(c, chain_plus(c, erf, 1.0), 0.5);
    ssq_var part =
        exponential(c, chain_times(c, second_pointwise_square(c, x), -0.5));
    part = chain_mul(c, x, chain_times(c, part, SQRT_1_2PI));
    second_pointwise_along(c, chain_add(c, whole, part));
}

/* y = x s(u) with u = 2 sqrt(2 / pi) (x + 0.044715 x^3): s(u) + x s(u) s(-u) u'
 */
void second_gelu_tanh(struct chain *c)
{
    ssq_var x = chain_wide(c, 0), xx = second_pointwise_square(c, x);
    ssq_var u = chain_plus(c, chain_times(c, xx, GELU_CUBE), 1.0);
    ssq_var du = chain_plus(c, chain_times(c, xx, 3 * GELU_CUBE), 1.0);
    u = chain_times(c, chain_mul(c, x, u), 2 * SQRT_2_PI);
    du = chain_times(c, chain_mul(c, x, du), 2 * SQRT_2_PI);
    second_pointwise_along(c, chain_add(c, second_pointwise_sigmoid(c, u),
                                        chain_mul(c, bell(c, u), du)));
}

/* 1 / (1 + |x|)^2 */
void second_softsign(struct chain *c)
{
    ssq_var x = ssq_abs_var_at(c->n.where, chain_wide(c, 0));
    second_pointwise_along(
        c, second_pointwise_square(c, reciprocal(c, chain_plus(c, x, 1.0))));
}

void second_softplus(struct chain *c)
{
    const ssq_softplus_args *args = c->args;
    second_pointwise_along(
        c, second_pointwise_sigmoid(
               c, chain_times(c, chain_wide(c, 0), args->beta)));
}

/* alpha e^x for x <= 0. For other x, e^0 is computed and not used. */
void second_elu(struct chain *c)
{
    const ssq_elu_args *args = c->args;
    ssq_var x = chain_wide(c, 0), dy = chain_slope(c);
    const ssq_tensor *on = chain_where(c, ssq_gt, x, chain_zero(c));
    ssq_var below = ssq_clamp_var_at(c->n.where, x, SSQ_CLAMP(.max = 0.0));
    below = chain_times(c, exponential(c, below), args->alpha);
    chain_give(c, 0, chain_choose(c, on, dy, chain_mul(c, dy, below)));
}

void second_exp(struct chain *c)
{
    second_pointwise_along(c, exponential(c, chain_wide(c, 0)));
}

void second_expm1(struct chain *c)
{
    second_exp(c);
}

static ssq_var second_pointwise_over(const struct chain *c, ssq_var a,
                                     ssq_var b)
{
    return ssq_div_var_at(c->n.where, a, b);
}

void second_log(struct chain *c)
{
    chain_give(c, 0,
               second_pointwise_over(c, chain_slope(c), chain_wide(c, 0)));
}

void second_log1p(struct chain *c)
{
    ssq_var x = chain_plus(c, chain_wide(c, 0), 1.0);
    chain_give(c, 0, second_pointwise_over(c, chain_slope(c), x));
}

void second_sqrt(struct chain *c)
{
    ssq_var y = ssq_sqrt_var_at(c->n.where, chain_wide(c, 0));
    chain_give(
        c, 0, second_pointwise_over(c, chain_slope(c), chain_times(c, y, 2.0)));
}

void second_rsqrt(struct chain *c)
{
    ssq_var y = ssq_rsqrt_var_at(c->n.where, chain_wide(c, 0));
    second_pointwise_along(
        c,
        chain_times(c, chain_mul(c, y, second_pointwise_square(c, y)), -0.5));
}

void second_reciprocal(struct chain *c)
{
    second_pointwise_along(
        c, second_pointwise_negative(
               c, second_pointwise_square(c, reciprocal(c, chain_wide(c, 0)))));
}

void second_square(struct chain *c)
{
    second_pointwise_along(c, chain_times(c, chain_wide(c, 0), 2.0));
}

void second_sin(struct chain *c)
{
    second_pointwise_along(c, ssq_cos_var_at(c->n.where, chain_wide(c, 0)));
}

void second_cos(struct chain *c)
{
    second_pointwise_along(
        c, second_pointwise_negative(
               c, ssq_sin_var_at(c->n.where, chain_wide(c, 0))));
}

void second_erf(struct chain *c)
{
    ssq_var e =
        exponential(c, second_pointwise_negative(
                           c, second_pointwise_square(c, chain_wide(c, 0))));
    second_pointwise_along(c, chain_times(c, e, TWO_SQRT_PI));
}

/* ---- gates ---- */

/* The activation of a gate, and its rule. */
static const struct {
    ssq_var (*var)(const char *where, ssq_var x);
    second_fn *rule;
} gates[] = {
    [SSQ_ACTIVATION_RELU] = {ssq_relu_var_at, second_relu},
    [SSQ_ACTIVATION_GELU] = {ssq_gelu_var_at, second_gelu},
    [SSQ_ACTIVATION_GELU_TANH] = {ssq_gelu_tanh_var_at, second_gelu_tanh},
    [SSQ_ACTIVATION_SILU] = {ssq_silu_var_at, second_silu},
    [SSQ_ACTIVATION_SIGMOID] = {ssq_sigmoid_var_at, second_sigmoid},
    [SSQ_ACTIVATION_TANH] = {ssq_tanh_var_at, second_tanh},
};

/* y = a f(b): da = dy f(b), and db is given by f's rule for the gradient dy
 * a. */
void second_glu(struct chain *c)
{
    const ssq_glu_args *args = c->args;
    ssq_var dy = chain_slope(c);
    if (chain_wants(c, 0)) {
        ssq_var f = gates[args->activation].var(c->n.where, chain_wide(c, 1));
        chain_give(c, 0, chain_mul(c, dy, f));
    }
    if (!chain_wants(c, 1))
        return;
    struct chain gate = *c;
    gate.n.var[0] = c->n.var[1];
    gate.n.writes[0] = c->n.writes[1];
    gate.dy = chain_mul(c, dy, chain_wide(c, 0));
    gates[args->activation].rule(&gate);
}
