/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp, exp2, expm1.
 *
 * Arguments are brought near 0 by a multiple of log(2), the rest is a
 * polynomial, and the result is a pair until it is rounded once at the end.
 * What overflows and underflows for certain is answered first, so that the
 * arithmetic between stays in range. */

#ifndef SSQ_KERNELS_SCALAR_EXP_H
#define SSQ_KERNELS_SCALAR_EXP_H

#include "kernels/scalar/pair.h"

#define LN2_H 0.69314575f /* 16 bits: exact times an integer below 256 */
#define LN2_L 1.4286068e-6f

/* exp(r + c) = (h, l) for |r| <= log(2) / 2, c tiny; relative error 2^-27. */
#define EXP_REDUCED(h, l, r, c)                                                \
    {                                                                          \
        EXACT float er_p = 0.0001995339f;                                      \
        er_p = er_p * (r) + 0.0013935775f;                                     \
        er_p = er_p * (r) + 0.008333198f;                                      \
        er_p = er_p * (r) + 0.041666456f;                                      \
        er_p = er_p * (r) + 0.16666667f;                                       \
        er_p = er_p * (r) + 0.5f;                                              \
        er_p = (r) * (r)*er_p;                                                 \
        EXACT float er_s = (r) + er_p;                                         \
        EXACT float er_t = (((r)-er_s) + er_p) + ((c) + (c)*er_s);             \
        EXACT float er_h = 1.0f + er_s;                                        \
        EXACT float er_l = ((1.0f - er_h) + er_s) + er_t;                      \
        h = er_h;                                                              \
        l = er_l;                                                              \
    }

/* x = n log(2) + r + c for x = xh + xl, |xh| <= 170, with the first difference
 * exact (Cody and Waite, 1980). n wraps. */
#define EXP_SPLIT(n, r, c, xh, xl)                                             \
    {                                                                          \
        EXACT float es_k = (xh)*1.442695f + F32_MAGIC;                         \
        n = AS_U32(es_k) - F32_MAGIC_BITS;                                     \
        es_k = es_k - F32_MAGIC;                                               \
        EXACT float es_a = MAD_EXACT(-es_k, LN2_H, xh);                        \
        EXACT float es_b = es_k * LN2_L;                                       \
        EXACT float es_r = es_a - es_b;                                        \
        EXACT float es_c = ((es_a - es_r) - es_b) + (xl);                      \
        r = es_r;                                                              \
        c = es_c;                                                              \
    }

/* exp(xh + xl) = (h, l) * 2^n */
#define EXP_PAIR(h, l, n, xh, xl)                                              \
    {                                                                          \
        EXACT float ep_r;                                                      \
        EXACT float ep_c;                                                      \
        EXP_SPLIT(n, ep_r, ep_c, xh, xl)                                       \
        EXP_REDUCED(h, l, ep_r, ep_c)                                          \
    }

/* exp(x): above 89 it is infinite, below -105 less than half the least
 * subnormal. */
FN float s_exp(float x)
{
    EXACT float h;
    EXACT float l;
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 89.0f)
        return AS_F32(F32_INF);
    if (x < -105.0f)
        return 0.0f;
    EXP_PAIR(h, l, n, x, -0.0f)
    return s_scale(h + l, n);
}

/* 2^x: x less its nearest integer is exact, and is multiplied by log(2) as a
 * pair. */
FN float s_exp2(float x)
{
    EXACT float h;
    EXACT float l;

    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 129.0f)
        return AS_F32(F32_INF);
    if (x < -151.0f)
        return 0.0f;
    EXACT float k = x + F32_MAGIC;
    u32 n = AS_U32(k) - F32_MAGIC_BITS;
    EXACT float f = x - (k - F32_MAGIC);

    TWO_PROD(h, l, f, 0.6931472f) /* log(2) as a pair */
    l = l + f * -1.9046542e-9f;
    EXP_REDUCED(h, l, h, l)
    return s_scale(h + l, n);
}

/* exp(x) - 1 = (h, l) for -20 <= x <= 40, |x| >= 2^-25. Where n = 0 the h of
 * EXP_PAIR is 1 plus a sum whose rounding l remembers, so 1 cancels. */
#define EXPM1_PAIR(h, l, n, x)                                                 \
    {                                                                          \
        EXACT float em_h;                                                      \
        EXACT float em_l;                                                      \
        EXP_PAIR(em_h, em_l, n, x, -0.0f)                                      \
        EXACT float em_2 = s_pow2(n);                                          \
        PAIR_ADD(h, l, -1.0f, em_h *em_2, em_l *em_2)                          \
    }

/* exp(x) - 1, without cancelling near 0. */
FN float s_expm1(float x)
{
    EXACT float h;
    EXACT float l;
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (x > 40.0f) /* 1 is less than half an ulp */
        return s_exp(x);
    if (x < -20.0f)
        return -1.0f;
    if (s_abs(x) < 2.9802322e-8f) /* 2^-25; keeps -0 and subnormals */
        return x;
    EXPM1_PAIR(h, l, n, x)
    return h + l;
}

#endif
