/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp, exp2, expm1.
 *
 * Arguments are brought near 0 by a multiple of log(2), the rest is a
 * polynomial, and the result is a pair until it is rounded once at the end.
 * A certain overflow or underflow is returned first, so that the
 * arithmetic between stays in range. */

#ifndef SSQ_KERNELS_SCALAR_EXP_H
#define SSQ_KERNELS_SCALAR_EXP_H

#include "kernels/scalar/pair.h"

#define LN2_H 0.69314575f /* 16 bits: exact times an integer below 256 */
#define LN2_L 1.4286068e-6f

/* (y.hi + y.lo) * 2^n, n wraps. */
struct exp_parts {
    STRUCT(float_pair) y;
    u32 n;
};

/* exp(x) for |x.hi| <= log(2) / 2, x.lo tiny; relative error 2^-27. */
FN STRUCT(float_pair) exp_reduced(STRUCT(float_pair) x)
{
    EXACT STRUCT(float_pair) y;
    EXACT float r = x.hi;
    EXACT float p = 0.0001995339f;

    p = p * r + 0.0013935775f;
    p = p * r + 0.008333198f;
    p = p * r + 0.041666456f;
    p = p * r + 0.16666667f;
    p = p * r + 0.5f;
    p = r * r * p;
    EXACT float s = r + p;
    EXACT float t = ((r - s) + p) + (x.lo + x.lo * s);

    y.hi = 1.0f + s;
    y.lo = ((1.0f - y.hi) + s) + t;
    return y;
}

/* x = n log(2) + y, |x.hi| <= 170, with the first difference exact (Cody and
 * Waite, 1980). */
FN STRUCT(exp_parts) exp_split(STRUCT(float_pair) x)
{
    EXACT STRUCT(exp_parts) e;
    EXACT float k = x.hi * 1.442695f + F32_MAGIC;

    e.n = AS_U32(k) - F32_MAGIC_BITS;
    k = k - F32_MAGIC;
    EXACT float a = MAD_EXACT(-k, LN2_H, x.hi);
    EXACT float b = k * LN2_L;

    e.y.hi = a - b;
    e.y.lo = ((a - e.y.hi) - b) + x.lo;
    return e;
}

/* exp(x) */
FN STRUCT(exp_parts) exp_pair(STRUCT(float_pair) x)
{
    EXACT STRUCT(exp_parts) e = exp_split(x);

    e.y = exp_reduced(e.y);
    return e;
}

/* Its one rounding. */
FN float exp_value(STRUCT(exp_parts) e)
{
    return s_scale(pair_sum(e.y), e.n);
}

/* exp(x): above 89 it is infinite, below -105 less than half the least
 * subnormal. */
FN float s_exp(float x)
{
    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 89.0f)
        return AS_F32(F32_INF);
    if (x < -105.0f)
        return 0.0f;
    return exp_value(exp_pair(pair_of(x, -0.0f)));
}

/* 2^x: x less its nearest integer is exact, and is multiplied by log(2) as a
 * pair. */
FN float s_exp2(float x)
{
    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 129.0f)
        return AS_F32(F32_INF);
    if (x < -151.0f)
        return 0.0f;
    EXACT float k = x + F32_MAGIC;
    u32 n = AS_U32(k) - F32_MAGIC_BITS;
    EXACT float f = x - (k - F32_MAGIC);
    EXACT STRUCT(float_pair) y = two_prod(f, 0.6931472f); /* log(2) as a pair */

    y.lo = y.lo + f * -1.9046542e-9f;
    return s_scale(pair_sum(exp_reduced(y)), n);
}

/* exp(x) - 1 for -20 <= x <= 40, |x| >= 2^-25. Where n = 0 the hi of exp_pair()
 * is 1 plus a sum whose rounding lo remembers, so 1 cancels. */
FN STRUCT(float_pair) expm1_pair(float x)
{
    EXACT STRUCT(exp_parts) e = exp_pair(pair_of(x, -0.0f));
    EXACT float scale = s_pow2(e.n);

    e.y.hi = e.y.hi * scale;
    e.y.lo = e.y.lo * scale;
    return pair_add(-1.0f, e.y);
}

/* exp(x) - 1, without cancelling near 0. */
FN float s_expm1(float x)
{
    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 40.0f) /* 1 is less than half an ulp */
        return s_exp(x);
    if (x < -20.0f)
        return -1.0f;
    if (s_abs(x) < 2.9802322e-8f) /* 2^-25; keeps -0 and subnormals */
        return x;
    return pair_sum(expm1_pair(x));
}

#endif
