/* SPDX-License-Identifier: Apache-2.0 */
/* erf.h - erf, erfc, gelu and its derivative.
 *
 * In the tail erfc(z) = exp(-z^2) G(u) u with u = 1 / (z + 1.5): G is a
 * polynomial, z^2 and the product are pairs. */

#ifndef SSQ_KERNELS_SCALAR_ERF_H
#define SSQ_KERNELS_SCALAR_ERF_H

#include "kernels/scalar/sigmoid.h"

/* erfc(z) exp(z^2) = (wh, wl) for the pair z >= 0.345. */
#define ERFC_SCALED(wh, wl, zh, zl)                                            \
    {                                                                          \
        EXACT float es_d;                                                      \
        EXACT float es_e;                                                      \
        EXACT float es_u;                                                      \
        EXACT float es_c;                                                      \
        EXACT float es_x;                                                      \
        EXACT float es_y;                                                      \
        PAIR_ADD(es_d, es_e, 1.5f, zh, zl)                                     \
        PAIR_RCP(es_u, es_c, es_d, es_e)                                       \
        TWO_SUM(es_x, es_y, es_u, -0.3125f)                                    \
        es_y = es_y + es_c;                                                    \
        EXACT float es_p = -15.355931f;                                        \
        es_p = es_p * es_x + 6.265016f;                                        \
        es_p = es_p * es_x + 5.002797f;                                        \
        es_p = es_p * es_x - 4.8790474f;                                       \
        es_p = es_p * es_x + 0.051846012f;                                     \
        es_p = es_p * es_x + 2.3361518f;                                       \
        es_p = es_p * es_x - 0.89984065f;                                      \
        es_p = es_p * es_x - 1.2248914f;                                       \
        es_p = es_p * es_x + 0.75928384f;                                      \
        /* the last two steps as pairs, with what x lost times a rough G' */   \
        EXACT float es_q;                                                      \
        EXACT float es_r;                                                      \
        FAST_TWO_SUM(es_q, es_r, 1.4935385f, es_x *es_p)                       \
        es_y = es_y * (1.4935385f + 1.5185677f * es_x) + es_x * es_r;          \
        TWO_PROD(es_q, es_r, es_x, es_q)                                       \
        FAST_TWO_SUM(es_d, es_e, 0.93332255f, es_q)                            \
        es_e = es_e + ((es_r + es_y) + 1.4208705e-9f);                         \
        PAIR_MUL(wh, wl, es_d, es_e, es_u, es_c)                               \
    }

/* (erf(x) - x) / x for |x| < 0.5, z = x^2. */
FN float erf_excess(float z)
{
    EXACT float p = -0.00075969705f;

    p = p * z + 0.0051938333f;
    p = p * z - 0.026861548f;
    p = p * z + 0.112837575f;
    p = p * z - 0.37612638f;
    return p * z + 0.12837917f;
}

/* erfc(a) = (h, l) * 2^n for 0.5 <= a <= 12. */
#define ERFC_PAIR(h, l, n, a)                                                  \
    {                                                                          \
        EXACT float ec_h;                                                      \
        EXACT float ec_l;                                                      \
        EXACT float ec_w;                                                      \
        EXACT float ec_v;                                                      \
        TWO_PROD(ec_h, ec_l, a, a)                                             \
        EXP_PAIR(ec_h, ec_l, n, s_neg(ec_h), s_neg(ec_l))                      \
        ERFC_SCALED(ec_w, ec_v, a, 0.0f)                                       \
        PAIR_MUL(h, l, ec_h, ec_l, ec_w, ec_v)                                 \
    }

/* A polynomial below 0.5; 1 - erfc in pairs above, and 1 beyond 4. */
FN float s_erf(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a < 0.5f)
        return x + x * erf_excess(x * x);
    if (a > 4.0f)
        return s_copysign(1.0f, x);
    ERFC_PAIR(h, l, n, a)
    EXACT float scale = s_pow2(n);

    PAIR_ADD(h, l, 1.0f, s_neg(h) * scale, s_neg(l) * scale)
    return s_copysign(h + l, x);
}

/* 1 - erf below 0.5, 2 - erfc(-x) for negative x; the tail is scaled last, so
 * that it keeps its accuracy down to the subnormals. */
FN float s_erfc(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a < 0.5f) {
        TWO_SUM(h, l, 1.0f, s_neg(x))
        return h + (l - x * erf_excess(x * x));
    }
    if (a > 11.0f)
        return x > 0.0f ? 0.0f : 2.0f;
    ERFC_PAIR(h, l, n, a)
    if (x > 0.0f)
        return s_scale(h + l, n);
    EXACT float scale = s_pow2(n);

    PAIR_ADD(h, l, 2.0f, s_neg(h) * scale, s_neg(l) * scale)
    return h + l;
}

/* x times the normal distribution function, 1/2 erfc(-x / sqrt(2)). */
FN float s_gelu(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float zh;
    EXACT float zl;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 15.0f)
        return x > 0.0f ? x : AS_F32(F32_SIGN);
    if (a < 2.9802322e-8f) /* 2^-25: a factor of exactly 1/2 */
        return 0.5f * x;
    PAIR_TIMES(zh, zl, a, 0.70710677f, 1.21016175e-8f) /* sqrt(1/2) */
    if (a < 0.5f) {
        zl = zl + zh * erf_excess(zh * zh);
        zh = s_copysign(0.5f, x) * zh;
        zl = s_copysign(0.5f, x) * zl;
        PAIR_ADD(h, l, 0.5f, zh, zl)
        PAIR_TIMES(h, l, x, h, l)
        return h + l;
    }
    TWO_PROD(h, l, a, a)
    EXP_PAIR(h, l, n, -0.5f * h, -0.5f * l)
    ERFC_SCALED(zh, zl, zh, zl)
    PAIR_MUL(h, l, h, l, 0.5f * zh, 0.5f * zl)
    if (x > 0.0f) {
        EXACT float scale = s_pow2(n);

        PAIR_ADD(h, l, 1.0f, s_neg(h) * scale, s_neg(l) * scale)
        n = 0u;
    }
    PAIR_TIMES(h, l, x, h, l)
    return s_scale(h + l, n);
}

/* The normal distribution function plus x times its density: for negative x
 * exp(-x^2/2) (W/2 - |x| / sqrt(2 pi)), zero at -0.7518. What underflows is +0:
 * Phi(x) + x phi(x) is the sum of +0 and -0 then. */
FN float s_gelu_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float zh;
    EXACT float zl;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 16.0f)
        return s_gate_end_plus(x);
    if (a <= 1.25f) {
        EXACT float p = 6.0500755e-5f;

        PAIR_ADD(zh, zl, s_neg(a), 0.75179154f, -1.211445e-8f)
        p = p * zh + 0.00018333698f;
        p = p * zh - 0.00072958926f;
        p = p * zh - 0.0022397605f;
        p = p * zh + 0.0045355903f;
        p = p * zh + 0.019421685f;
        p = p * zh - 0.014771136f;
        p = p * zh - 0.11400821f;
        p = p * zh - 0.018199692f;
        return root_grad(x, zh, zl, 0.431494f, -5.176417e-9f, 0.38828498f, p);
    }
    PAIR_TIMES(zh, zl, a, 0.70710677f, 1.21016175e-8f) /* sqrt(1/2) */
    TWO_PROD(h, l, a, a)
    EXP_PAIR(h, l, n, -0.5f * h, -0.5f * l)
    ERFC_SCALED(zh, zl, zh, zl)
    EXACT float th;
    EXACT float tl;

    PAIR_TIMES(th, tl, a, -0.3989423f, 1.133517e-8f) /* -1/sqrt(2 pi) */
    tl = tl + 0.5f * zl;
    PAIR_ADD(th, tl, 0.5f * zh, th, tl)
    PAIR_MUL(h, l, h, l, th, tl)
    return s_zero_plus(grad_finish(x, h, l, n));
}

#endif
