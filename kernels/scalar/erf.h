/* SPDX-License-Identifier: Apache-2.0 */
/* erf.h - erf, erfc, gelu and its derivative.
 *
 * In the tail erfc(z) = exp(-z^2) G(u) u with u = 1 / (z + 1.5): G is a
 * polynomial, z^2 and the product are pairs. */

#ifndef SSQ_KERNELS_SCALAR_ERF_H
#define SSQ_KERNELS_SCALAR_ERF_H

#include "kernels/scalar/sigmoid.h"

/* 1 / (z + 1.5) = (uh, ul) for the pair z >= 0. */
#define ERFC_RCP(uh, ul, zh, zl)                                               \
    {                                                                          \
        EXACT float er_d;                                                      \
        EXACT float er_e;                                                      \
        PAIR_ADD(er_d, er_e, 1.5f, zh, zl)                                     \
        PAIR_RCP(uh, ul, er_d, er_e)                                           \
    }

/* G's polynomial in u - 0.3125, except for its last two steps. */
FN float erfc_start(float u)
{
    EXACT float x = u - 0.3125f;
    EXACT float p = -15.355931f;

    p = p * x + 6.265016f;
    p = p * x + 5.002797f;
    p = p * x - 4.8790474f;
    p = p * x + 0.051846012f;
    p = p * x + 2.3361518f;
    p = p * x - 0.89984065f;
    p = p * x - 1.2248914f;
    return p * x + 0.75928384f;
}

/* erfc(z) exp(z^2) = (wh, wl) for the u of a z >= 0.345, p = erfc_start(uh):
 * the last two steps as pairs, with x's rounding error times a rough G'. */
#define ERFC_SCALED(wh, wl, uh, ul, p)                                         \
    {                                                                          \
        EXACT float es_d;                                                      \
        EXACT float es_e;                                                      \
        EXACT float es_x;                                                      \
        EXACT float es_y;                                                      \
        EXACT float es_q;                                                      \
        EXACT float es_r;                                                      \
        TWO_SUM(es_x, es_y, uh, -0.3125f)                                      \
        es_y = es_y + (ul);                                                    \
        FAST_TWO_SUM(es_q, es_r, 1.4935385f, es_x *(p))                        \
        es_y = es_y * (1.4935385f + 1.5185677f * es_x) + es_x * es_r;          \
        TWO_PROD(es_q, es_r, es_x, es_q)                                       \
        FAST_TWO_SUM(es_d, es_e, 0.93332255f, es_q)                            \
        es_e = es_e + ((es_r + es_y) + 1.4208705e-9f);                         \
        PAIR_MUL(wh, wl, es_d, es_e, uh, ul)                                   \
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
        ERFC_RCP(ec_w, ec_v, a, 0.0f)                                          \
        ERFC_SCALED(ec_w, ec_v, ec_w, ec_v, erfc_start(ec_w))                  \
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

/* sqrt(1/2) x = (zh, zl) */
#define GELU_Z(zh, zl, x) PAIR_TIMES(zh, zl, x, 0.70710677f, 1.21016175e-8f)
/* -x^2 / 2 = (vh, vl) */
#define GELU_EXPONENT(vh, vl, x)                                               \
    {                                                                          \
        EXACT float ge_h;                                                      \
        EXACT float ge_l;                                                      \
        TWO_PROD(ge_h, ge_l, x, x)                                             \
        vh = -0.5f * ge_h;                                                     \
        vl = -0.5f * ge_l;                                                     \
    }
/* ERFC_RCP of |x| sqrt(1/2), t = -|x| */
#define GELU_RCP(uh, ul, t)                                                    \
    {                                                                          \
        EXACT float gr_h;                                                      \
        EXACT float gr_l;                                                      \
        GELU_Z(gr_h, gr_l, -(t))                                               \
        ERFC_RCP(uh, ul, gr_h, gr_l)                                           \
    }

/* 1/2 erf(x sqrt(1/2)) = (zh, zl) for |x| < 1/2 */
#define GELU_NEAR(zh, zl, x)                                                   \
    {                                                                          \
        EXACT float gn_h;                                                      \
        EXACT float gn_l;                                                      \
        GELU_Z(gn_h, gn_l, x)                                                  \
        gn_l = gn_l + gn_h * erf_excess(gn_h * gn_h);                          \
        zh = 0.5f * gn_h;                                                      \
        zl = 0.5f * gn_l;                                                      \
    }

/* x times the normal distribution function, 1/2 erfc(-x / sqrt(2)), which is
 * 1/2 and GELU_NEAR's below 1/2, else 1 less the tail (h, l) * 2^(n - 1) for
 * positive x: a sum of two each time. t is -|x|, at least -GELU_MOST, beyond
 * which the result is x or 0. */
#define GELU_MOST 15.0f
FN float gelu_end(float x, float t, float h, float l, u32 n, float zh, float zl)
{
    EXACT float sh;
    EXACT float sl;
    bool near = t > -0.5f;
    bool tail = t <= -0.5f && x < 0.0f;

    sh = near ? zh : -s_scale_down(h, n - 1u);
    sl = near ? zl : -s_scale_down(l, n - 1u);
    PAIR_ADD_LESS(sh, sl, near ? 0.5f : 1.0f, sh, sl)
    PAIR_TIMES_LOOSE(sh, sl, tail ? t : x, tail ? h : sh, tail ? l : sl)
    sh = sh + sl;
    EXACT float y = tail ? s_scale_down(sh, n - 1u) : sh;

    return s_copysign(x > GELU_MOST ? x : y, x); /* of 0 too */
}

FN float s_gelu(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float wh;
    EXACT float wl;
    EXACT float t = s_minus_at_most(x, GELU_MOST);
    u32 n;

    GELU_EXPONENT(h, l, t)
    EXP_PAIR(h, l, n, h, l)
    GELU_RCP(wh, wl, t)
    ERFC_SCALED(wh, wl, wh, wl, erfc_start(wh))
    PAIR_MUL(h, l, h, l, wh, wl)
    GELU_NEAR(wh, wl, x)
    EXACT float y = gelu_end(x, t, h, l, n, wh, wl);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* Where -t is at most 1.25: its distance d from the zero, 0.7518, and p of
 * ROOT_GRAD. */
#define GELU_ROOT(dh, dl, p, t)                                                \
    {                                                                          \
        EXACT float gr_h;                                                      \
        EXACT float gr_l;                                                      \
        EXACT float gr_p = 6.0500755e-5f;                                      \
        PAIR_ADD(gr_h, gr_l, t, 0.75179154f, -1.211445e-8f)                    \
        gr_p = gr_p * gr_h + 0.00018333698f;                                   \
        gr_p = gr_p * gr_h - 0.00072958926f;                                   \
        gr_p = gr_p * gr_h - 0.0022397605f;                                    \
        gr_p = gr_p * gr_h + 0.0045355903f;                                    \
        gr_p = gr_p * gr_h + 0.019421685f;                                     \
        gr_p = gr_p * gr_h - 0.014771136f;                                     \
        gr_p = gr_p * gr_h - 0.11400821f;                                      \
        gr_p = gr_p * gr_h - 0.018199692f;                                     \
        dh = gr_h;                                                             \
        dl = gr_l;                                                             \
        p = gr_p;                                                              \
    }

/* E (W/2 + t / sqrt(2 pi)) = (yh, yl), E = (eh, el) * 2^n */
#define GELU_GRAD(yh, yl, t, eh, el, n, wh, wl)                                \
    {                                                                          \
        EXACT float gg_h;                                                      \
        EXACT float gg_l;                                                      \
        PAIR_TIMES(gg_h, gg_l, t, 0.3989423f, -1.133517e-8f)                   \
        gg_l = gg_l + 0.5f * (wl);                                             \
        PAIR_ADD(gg_h, gg_l, 0.5f * (wh), gg_h, gg_l)                          \
        PAIR_MUL(gg_h, gg_l, eh, el, gg_h, gg_l)                               \
        yh = s_scale_down(gg_h, n);                                            \
        yl = s_scale_down(gg_l, n);                                            \
    }

/* The normal distribution function plus x times its density: for negative x
 * (gh, gl) of GELU_GRAD. A result that underflows is +0: Phi(x) + x phi(x) is
 * the sum of +0 and -0 then. */
#define GELU_GRAD_MOST 16.0f
FN float gelu_grad_end(float x, float t, float gh, float gl, float dh, float dl,
                       float p)
{
    EXACT float yh;
    EXACT float yl;
    bool near = t >= -1.25f;

    ROOT_GRAD(yh, yl, dh, dl, 0.431494f, -5.176417e-9f, 0.38828498f, p)
    return s_zero_plus(grad_finish(x, near ? yh : gh, near ? yl : gl));
}

FN float s_gelu_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float wh;
    EXACT float wl;
    EXACT float p;
    EXACT float t = s_minus_at_most(x, GELU_GRAD_MOST);
    u32 n;

    GELU_EXPONENT(h, l, t)
    EXP_PAIR(h, l, n, h, l)
    GELU_RCP(wh, wl, t)
    ERFC_SCALED(wh, wl, wh, wl, erfc_start(wh))
    GELU_GRAD(h, l, t, h, l, n, wh, wl)
    GELU_ROOT(wh, wl, p, t)
    EXACT float y = gelu_grad_end(x, t, h, l, wh, wl, p);

    return s_is_nan(x) ? s_quiet(x) : y;
}

#endif
