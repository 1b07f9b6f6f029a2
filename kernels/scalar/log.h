/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - log, log2, log1p, pow.
 *
 * x = m 2^k with m near 1: the logarithm of m is a polynomial in m - 1, the
 * rest k log(2), both as pairs until they are rounded once at the end. */

#ifndef SSQ_KERNELS_SCALAR_LOG_H
#define SSQ_KERNELS_SCALAR_LOG_H

#include "kernels/scalar/exp.h"

/* log(1 + f + c) = (h, l) for sqrt(1/2) <= 1 + f <= sqrt(2), c tiny; relative
 * error 2^-27. */
#define LOG_REDUCED(h, l, f, c)                                                \
    {                                                                          \
        EXACT float lr_q;                                                      \
        EXACT float lr_e;                                                      \
        EXACT float lr_p = 0.06694212f;                                        \
        lr_p = lr_p * (f)-0.11781852f;                                         \
        lr_p = lr_p * (f) + 0.11975161f;                                       \
        lr_p = lr_p * (f)-0.123920396f;                                        \
        lr_p = lr_p * (f) + 0.14204228f;                                       \
        lr_p = lr_p * (f)-0.16668318f;                                         \
        lr_p = lr_p * (f) + 0.20003028f;                                       \
        lr_p = lr_p * (f)-0.25000015f;                                         \
        lr_p = lr_p * (f) + 0.33333296f;                                       \
        TWO_PROD(lr_q, lr_e, f, f)                                             \
        lr_p = (f)*lr_q * lr_p;                                                \
        /* c / (1 + f), to 1 % */                                              \
        EXACT float lr_c = (c) * ((1.0f - (f)) * (1.0f + lr_q) + lr_q * lr_q); \
        EXACT float lr_a = (f)-0.5f * lr_q;                                    \
        EXACT float lr_b = (((f)-lr_a) - 0.5f * lr_q) - 0.5f * lr_e;           \
        EXACT float lr_h = lr_a + lr_p;                                        \
        EXACT float lr_l = ((lr_a - lr_h) + lr_p) + (lr_b + lr_c);             \
        h = lr_h;                                                              \
        l = lr_l;                                                              \
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

/* log(m) + k log(2), of which k LN2_H is exact. */
FN float s_log(float x)
{
    EXACT float h;
    EXACT float l;
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(x);
    EXACT float k = F32(log_exponent(u)) - 1024.0f;
    EXACT float f = AS_F32(log_significand(u)) - 1.0f;

    LOG_REDUCED(h, l, f, 0.0f)
    l = l + k * LN2_L;
    PAIR_ADD(h, l, k * LN2_H, h, l)
    return h + l;
}

/* log(m) / log(2) + k, where k is exact. */
FN float s_log2(float x)
{
    EXACT float h;
    EXACT float l;
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(x);
    EXACT float k = F32(log_exponent(u)) - 1024.0f;
    EXACT float f = AS_F32(log_significand(u)) - 1.0f;

    LOG_REDUCED(h, l, f, 0.0f)
    PAIR_MUL(h, l, h, l, 1.442695f, 1.925963e-8f) /* 1 / log(2) */
    PAIR_ADD(h, l, k, h, l)
    return h + l;
}

/* 1 + x as a pair, of which c is what the rounding of d lost. */
FN float s_log1p(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float d;
    EXACT float c;

    if (s_abs(x) < 2.9802322e-8f) /* 2^-25; keeps -0 and subnormals */
        return x;
    TWO_SUM(d, c, 1.0f, x)
    u32 u = AS_U32(d);

    if (u - 1u >= 0x7f7fffffu)
        return log_special(s_is_nan(x) ? x : d);
    u32 n = log_exponent(u) - 1024u;
    EXACT float k = F32(n + 1024u) - 1024.0f;
    EXACT float f = AS_F32(log_significand(u)) - 1.0f;

    c = c * s_pow2(0u - n);
    LOG_REDUCED(h, l, f, c)
    l = l + k * LN2_L;
    PAIR_ADD(h, l, k * LN2_H, h, l)
    return h + l;
}

/* log(x) = (h, l) to a relative 2^-34, since pow multiplies it by up to 2^7:
 * log(m) = 2 atanh(s), s = (m - 1) / (m + 1), everything but the terms from
 * s^5 on in pairs. u holds the bits of a positive finite x. */
#define LOG_PRECISE(h, l, u)                                                   \
    {                                                                          \
        EXACT float lp_k = F32(log_exponent(u)) - 1024.0f;                     \
        EXACT float lp_m = AS_F32(log_significand(u));                         \
        EXACT float lp_f = lp_m - 1.0f;                                        \
        EXACT float lp_sh;                                                     \
        EXACT float lp_sl;                                                     \
        EXACT float lp_zh;                                                     \
        EXACT float lp_zl;                                                     \
        EXACT float lp_ch;                                                     \
        EXACT float lp_cl;                                                     \
        EXACT float lp_th;                                                     \
        EXACT float lp_tl;                                                     \
        TWO_SUM(lp_zh, lp_zl, lp_m, 1.0f)                                      \
        PAIR_RCP(lp_ch, lp_cl, lp_zh, lp_zl)                                   \
        PAIR_TIMES(lp_sh, lp_sl, lp_f, lp_ch, lp_cl)                           \
        PAIR_MUL(lp_zh, lp_zl, lp_sh, lp_sl, lp_sh, lp_sl)                     \
        PAIR_MUL(lp_ch, lp_cl, lp_sh, lp_sl, lp_zh, lp_zl)                     \
        PAIR_MUL(lp_th, lp_tl, lp_ch, lp_cl, 0.6666667f, -1.9868216e-8f)       \
        EXACT float lp_p = 0.19527893f;                                        \
        lp_p = lp_p * lp_zh + 0.2218106f;                                      \
        lp_p = lp_p * lp_zh + 0.28571957f;                                     \
        lp_p = lp_p * lp_zh + 0.39999998f;                                     \
        lp_tl = lp_tl + lp_ch * lp_zh * lp_p;                                  \
        FAST_TWO_SUM(lp_sh, lp_zl, 2.0f * lp_sh, lp_th)                        \
        lp_zl = lp_zl + (2.0f * lp_sl + lp_tl);                                \
        lp_zl = lp_zl + lp_k * LN2_L;                                          \
        PAIR_ADD(h, l, lp_k *LN2_H, lp_sh, lp_zl)                              \
    }

/* |a|^b for positive finite |a| given as bits and finite b. A result that
 * overflows, underflows or rounds to 1 is answered before the exponential,
 * whose argument must be in range. */
FN float pow_magnitude(u32 u, float b)
{
    EXACT float h;
    EXACT float l;
    EXACT float ph;
    EXACT float pl;
    u32 n;

    LOG_PRECISE(h, l, u)
    ph = h * b;
    if (ph > 100.0f)
        return AS_F32(F32_INF);
    if (ph < -110.0f)
        return 0.0f;
    if (s_abs(ph) < 1.4901161e-8f) /* 2^-26 */
        return 1.0f;
    TWO_PROD(ph, pl, h, b)
    pl = pl + l * b;
    EXP_PAIR(h, l, n, ph, pl)
    return s_scale(h + l, n);
}

/* The kind of b: 0 is not an integer, 1 an odd one, 2 an even one, as
 * all are from 2^24 on. */
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

/* a^b as in C99 annex F. */
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
