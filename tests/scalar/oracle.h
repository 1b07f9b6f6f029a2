/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - the functions of scalar.h again, in long double from libm. */

#ifndef SSQ_TESTS_SCALAR_ORACLE_H
#define SSQ_TESTS_SCALAR_ORACLE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef long double ld;

static const ld oracle_pi = 3.14159265358979323846264338327950288L;

static inline ld o_exp(ld x)
{
    return expl(x);
}

static inline ld o_exp2(ld x)
{
    return exp2l(x);
}

static inline ld o_expm1(ld x)
{
    return expm1l(x);
}

static inline ld o_log(ld x)
{
    return logl(x);
}

static inline ld o_log2(ld x)
{
    return log2l(x);
}

static inline ld o_log1p(ld x)
{
    return log1pl(x);
}

static inline ld o_sin(ld x)
{
    return sinl(x);
}

static inline ld o_cos(ld x)
{
    return cosl(x);
}

static inline ld o_tanh(ld x)
{
    return tanhl(x);
}

static inline ld o_erf(ld x)
{
    return erfl(x);
}

static inline ld o_erfc(ld x)
{
    return erfcl(x);
}

static inline ld o_sqrt(ld x)
{
    return sqrtl(x);
}

static inline ld o_rsqrt(ld x)
{
    return 1 / sqrtl(x);
}

static inline ld o_rcp(ld x)
{
    return 1 / x;
}

static inline ld o_sigmoid(ld x)
{
    ld e = expl(-fabsl(x));

    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static inline ld o_silu(ld x)
{
    return x == -INFINITY ? -0.0L : x * o_sigmoid(x);
}

/* 1 - sigmoid(x) = sigmoid(-x) keeps the tails. */
static inline ld o_silu_grad(ld x)
{
    if (isinf(x))
        return x < 0 ? -0.0L : 1;
    return o_sigmoid(x) * (1 + x * o_sigmoid(-x));
}

static inline ld o_gelu(ld x)
{
    return x == -INFINITY ? -0.0L : x * erfcl(-x * sqrtl(0.5L)) / 2;
}

static inline ld o_gelu_grad(ld x)
{
    if (isinf(x))
        return x < 0 ? -0.0L : 1;
    return erfcl(-x * sqrtl(0.5L)) / 2 +
           x * expl(-x * x / 2) / sqrtl(2 * oracle_pi);
}

static inline ld o_gelu_tanh(ld x)
{
    ld v = 2 * sqrtl(2 / oracle_pi) * (x + 0.044715L * x * x * x);

    return x == -INFINITY ? -0.0L : x * o_sigmoid(v);
}

static inline ld o_gelu_tanh_grad(ld x)
{
    ld k = 2 * sqrtl(2 / oracle_pi);
    ld v = k * (x + 0.044715L * x * x * x);

    if (isinf(x))
        return x < 0 ? -0.0L : 1;
    return o_sigmoid(v) *
           (1 + x * o_sigmoid(-v) * k * (1 + 3 * 0.044715L * x * x));
}

static inline ld o_softplus(ld x)
{
    return fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}

static inline ld o_log_sigmoid(ld x)
{
    return -o_softplus(-x);
}

/* The distance of y from the true value c, in units of the last place of c in
 * a format of this many bits whose smallest normal exponent is e_min and whose
 * infinity would be 2^e_inf; infinite if one is NaN and the other is not. */
static inline double ulps(ld y, ld c, int bits, int e_min, int e_inf)
{
    ld inf = ldexpl(1, e_inf);
    int e;

    if (isnan(y) || isnan(c))
        return isnan(y) && isnan(c) ? 0 : (double)INFINITY;
    y = fminl(fmaxl(y, -inf), inf);
    c = fminl(fmaxl(c, -inf), inf);
    if (y == c)
        return 0;
    frexpl(c, &e);
    e = e - 1 < e_min ? e_min : e - 1;
    e = e >= e_inf ? e_inf - 1 : e;
    return (double)ldexpl(fabsl(y - c), bits - 1 - e);
}

static inline double ulps_f32(ld y, ld c)
{
    return ulps(y, c, 24, -126, 128);
}

static inline double ulps_f16(ld y, ld c)
{
    return ulps(y, c, 11, -14, 16);
}

static inline double ulps_bf16(ld y, ld c)
{
    return ulps(y, c, 8, -126, 128);
}

#endif
