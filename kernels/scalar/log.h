/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - log, log2, log1p, pow.
 *
 * x = m 2^k with m near 1: the logarithm of m is a polynomial in m - 1, the
 * rest k log(2), both as pairs until they are rounded once at the end. */

#ifndef SSQ_KERNELS_SCALAR_LOG_H
#define SSQ_KERNELS_SCALAR_LOG_H

#include "kernels/scalar/exp.h"

/* log(1 + x) for sqrt(1/2) <= 1 + x.hi <= sqrt(2), x.lo tiny; relative error
 * 2^-27. */
FN STRUCT(float_pair) log_reduced(STRUCT(float_pair) x)
{
    EXACT STRUCT(float_pair) y;
    EXACT float f = x.hi;
    EXACT float p = 0.06694212f;

    p = p * f - 0.11781852f;
    p = p * f + 0.11975161f;
    p = p * f - 0.123920396f;
    p = p * f + 0.14204228f;
    p = p * f - 0.16668318f;
    p = p * f + 0.20003028f;
    p = p * f - 0.25000015f;
    p = p * f + 0.33333296f;
    EXACT STRUCT(float_pair) q = two_prod(f, f);

    p = f * q.hi * p;
    /* x.lo / (1 + f), to 1 % */
    EXACT float c = x.lo * ((1.0f - f) * (1.0f + q.hi) + q.hi * q.hi);
    EXACT float a = f - 0.5f * q.hi;
    EXACT float b = ((f - a) - 0.5f * q.hi) - 0.5f * q.lo;

    y.hi = a + p;
    y.lo = ((a - y.hi) + p) + (b + c);
    return y;
}

#define LOG_SPLIT 0x3f3504f3u /* sqrt(1/2) */

/* x = m * 2^k, m between sqrt(1/2) and sqrt(2): the bits of m, and k + 1024.
 * u holds the bits of a positive finite x. */
FN u32 log_significand(u32 u)
{
    u32 s = f32_significand(u) - 0x800000u;

    return s | (s < 0x3504f3u ? 0x3f800000u : 0x3f000000u);
}

FN u32 log_exponent(u32 u)
{
    u32 s = f32_significand(u) - 0x800000u;

    return f32_exponent(u) + 897u + (s < 0x3504f3u ? 0u : 1u);
}

/* The logarithm of a number that is not positive and finite. */
FN float log_special(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u))
        return s_quiet(x);
    if (u == F32_INF)
        return x;
    return AS_F32((u & 0x7fffffffu) == 0u ? F32_SIGN | F32_INF : F32_NAN);
}

/* y + k log(2), of which k LN2_H is exact. */
FN STRUCT(float_pair) log_join(float k, STRUCT(float_pair) y)
{
    EXACT STRUCT(float_pair) s = y;
    EXACT float kh = k * LN2_H;

    s.lo = s.lo + k * LN2_L;
    return pair_add(kh, s);
}

/* log(m) + k log(2) */
FN float s_log(float x)
{
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(x);
    EXACT float k = F32(log_exponent(u)) - 1024.0f;
    EXACT float f = AS_F32(log_significand(u)) - 1.0f;

    return pair_sum(log_join(k, log_reduced(pair_of(f, 0.0f))));
}

/* log(m) / log(2) + k, where k is exact. */
FN float s_log2(float x)
{
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(x);
    EXACT float k = F32(log_exponent(u)) - 1024.0f;
    EXACT float f = AS_F32(log_significand(u)) - 1.0f;
    EXACT STRUCT(float_pair) y = log_reduced(pair_of(f, 0.0f));

    y = pair_mul(y, pair_of(1.442695f, 1.925963e-8f)); /* 1 / log(2) */
    return pair_sum(pair_add(k, y));
}

/* 1 + x as a pair, of which lo is what the rounding of hi lost. */
FN float s_log1p(float x)
{
    if (s_abs(x) < 2.9802322e-8f) /* 2^-25; keeps -0 and subnormals */
        return x;
    EXACT STRUCT(float_pair) d = two_sum(1.0f, x);
    u32 u = AS_U32(d.hi);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(s_is_nan(x) ? x : d.hi);
    u32 n = log_exponent(u) - 1024u;
    EXACT float k = F32(n + 1024u) - 1024.0f;

    d.hi = AS_F32(log_significand(u)) - 1.0f;
    d.lo = d.lo * s_pow2(0u - n);
    return pair_sum(log_join(k, log_reduced(d)));
}

/* log(x) to a relative 2^-34, since pow multiplies it by up to 2^7: log(m) = 2
 * atanh(s), s = (m - 1) / (m + 1), everything but the terms from s^5 on in
 * pairs. u holds the bits of a positive finite x. */
FN STRUCT(float_pair) log_precise(u32 u)
{
    EXACT float k = F32(log_exponent(u)) - 1024.0f;
    EXACT float m = AS_F32(log_significand(u));
    EXACT float f = m - 1.0f;
    EXACT STRUCT(float_pair) s = pair_times(f, pair_rcp(two_sum(m, 1.0f)));
    EXACT STRUCT(float_pair) z = pair_mul(s, s);
    EXACT STRUCT(float_pair) cube = pair_mul(s, z);
    EXACT STRUCT(float_pair) t =
        pair_mul(cube, pair_of(0.6666667f, -1.9868216e-8f));
    EXACT float p = 0.19527893f;

    p = p * z.hi + 0.2218106f;
    p = p * z.hi + 0.28571957f;
    p = p * z.hi + 0.39999998f;
    t.lo = t.lo + cube.hi * z.hi * p;
    EXACT float twice = 2.0f * s.hi;

    z = fast_two_sum(twice, t.hi);
    z.lo = z.lo + (2.0f * s.lo + t.lo);
    return log_join(k, z);
}

/* |a|^b for positive finite |a| given as bits and finite b. If the
 * result overflows, underflows or rounds to 1, it is returned before the
 * exponential, whose argument must be in range. */
FN float pow_magnitude(u32 u, float b)
{
    EXACT STRUCT(float_pair) y = log_precise(u);
    EXACT float product = y.hi * b;

    if (product > 100.0f)
        return AS_F32(F32_INF);
    if (product < -110.0f)
        return 0.0f;
    if (s_abs(product) < 1.4901161e-8f) /* 2^-26 */
        return 1.0f;
    EXACT STRUCT(float_pair) x = two_prod(y.hi, b);

    x.lo = x.lo + y.lo * b;
    return exp_value(exp_pair(x));
}

/* 0 if b is not an integer, 1 if it is odd, 2 if it is even. From 2^24 on all
 * are even. */
FN u32 pow_parity(float b)
{
    u32 u = AS_U32(b) & 0x7fffffffu;
    u32 e = u >> 23u;

    if (u == 0u || e > 150u)
        return 2u;
    if (e < 127u)
        return 0u;
    u32 one = 1u << (150u - e); /* the bit that is worth 1 */
    u32 m = (u & 0x7fffffu) | 0x800000u;

    if ((m & (one - 1u)) != 0u)
        return 0u;
    return (m & one) != 0u ? 1u : 2u;
}

/* a^b where a is 0 or infinite or b is infinite, neither is NaN. */
FN float pow_special(float a, float b)
{
    u32 ua = AS_U32(a) & 0x7fffffffu;
    bool up = b > 0.0f;

    if (is_inf_bits(AS_U32(b))) {
        if (ua == 0x3f800000u)
            return 1.0f;
        return AS_F32((ua > 0x3f800000u) == up ? F32_INF : 0u);
    }
    u32 s = pow_parity(b) == 1u ? AS_U32(a) & F32_SIGN : 0u;

    return AS_F32(s | ((ua != 0u) == up ? F32_INF : 0u));
}

/* a^b, with the special cases of C99 annex F. */
FN float s_pow(float a, float b)
{
    u32 ua = AS_U32(a);
    u32 ub = AS_U32(b);

    if ((ub & 0x7fffffffu) == 0u || ua == 0x3f800000u)
        return 1.0f;
    if (is_nan_bits(ua))
        return s_quiet(a);
    if (is_nan_bits(ub))
        return s_quiet(b);
    if ((ua & 0x7fffffffu) == 0u || !is_finite_bits(ua) || !is_finite_bits(ub))
        return pow_special(a, b);
    u32 parity = (ua & F32_SIGN) != 0u ? pow_parity(b) : 2u;

    if (parity == 0u)
        return AS_F32(F32_NAN);
    EXACT float y = pow_magnitude(ua & 0x7fffffffu, b);

    return parity == 1u ? s_neg(y) : y;
}

#endif
