/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.h - sigmoid, tanh, silu, gelu in its tanh form, softplus,
 * elu, and their derivatives.
 *
 * All go through E = exp(-|x|) as a pair and 1 / (1 + E); a term that is small
 * for negative x is multiplied by 2^n last, so it keeps its accuracy down to
 * the subnormals. The limits at -infinity are returned: silu(-inf) is -0. */

#ifndef SSQ_KERNELS_SCALAR_SIGMOID_H
#define SSQ_KERNELS_SCALAR_SIGMOID_H

#include "kernels/scalar/log.h"

/* 1 / (1 + E) = (qh, ql), E = (h, l) * 2^n of EXP_PAIR, at most 1. The rounding
 * error where E is below 2^-126 is less than anything that it is added to. */
#define RCP_ONE_MORE(qh, ql, h, l, n)                                          \
    {                                                                          \
        EXACT float ro_d;                                                      \
        EXACT float ro_e;                                                      \
        PAIR_ADD_LESS(ro_d, ro_e, 1.0f, s_scale_down(h, n),                    \
                      s_scale_down(l, n))                                      \
        PAIR_RCP(qh, ql, ro_d, ro_e)                                           \
    }

/* E = exp(v) = (h, l) * 2^n and 1 / (1 + E) = (qh, ql) for the pair
 * -125 <= v <= 0. */
#define SIGMOID_PAIR(h, l, n, qh, ql, vh, vl)                                  \
    {                                                                          \
        EXP_PAIR(h, l, n, vh, vl)                                              \
        RCP_ONE_MORE(qh, ql, h, l, n)                                          \
    }

/* exp(-110) is 0 to float32, and 1 + exp(-110) is 1. */
#define SIGMOID_MOST 110.0f

/* 1 / (1 + exp(-x)); for negative x it is E / (1 + E), E scaled last. */
FN float sigmoid_end(float x, float eh, float el, u32 n, float qh, float ql)
{
    EXACT float h;
    EXACT float l;

    PAIR_MUL_LOOSE(h, l, eh, el, qh, ql)
    return x >= 0.0f ? qh + ql : s_scale_down(h + l, n);
}

FN float s_sigmoid(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, s_minus_at_most(x, SIGMOID_MOST), -0.0f)
    EXACT float y = sigmoid_end(x, h, l, n, qh, ql);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* sigmoid(x) sigmoid(-x), of which the larger one is 1 beyond 110: nothing
 * cancels, and E is worked out once. */
FN float sigmoid_grad_end(float eh, float el, u32 n, float qh, float ql)
{
    EXACT float h;
    EXACT float l;

    PAIR_MUL_LOOSE(h, l, eh, el, qh, ql)
    return (qh + ql) * s_scale_down(h + l, n);
}

FN float s_sigmoid_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, s_minus_at_most(x, SIGMOID_MOST), -0.0f)
    EXACT float y = sigmoid_grad_end(h, l, n, qh, ql);

    return s_is_nan(x) ? s_quiet(x) : y;
}

FN float s_softplus_grad(float x)
{
    return s_sigmoid(x);
}

/* An odd polynomial near 0, where the other form would cancel, which is
 * tanh(a) = 2 / (1 + exp(-2a)) - 1: the difference of two halves of pairs is
 * exact. From 10 on it is 1 to less than half an ulp. */
#define TANH_MOST 20.0f /* of 2a */
FN float tanh_end(float x, float qh, float ql)
{
    EXACT float z = x * x;
    EXACT float p = 0.0022926074f;

    p = p * z - 0.008314569f;
    p = p * z + 0.021746462f;
    p = p * z - 0.053953417f;
    p = p * z + 0.13333245f;
    p = p * z - 0.3333333f;
    EXACT float near = x + x * z * p;
    EXACT float far = (2.0f * qh - 1.0f) + 2.0f * ql;

    return s_copysign(s_abs(x) < 0.55f ? near : far, x); /* -0 */
}

FN float s_tanh(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, s_minus_at_most(2.0f * x, TANH_MOST), -0.0f)
    EXACT float y = tanh_end(x, qh, ql);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* x sigmoid(v), E = exp(-|v|) and so on, in pairs, so that it is rounded once;
 * t is -|x|, at least -most, beyond which the result is x or 0. */
FN float gate_end(float x, float t, float most, float eh, float el, u32 n,
                  float qh, float ql)
{
    EXACT float h;
    EXACT float l;
    bool up = x > 0.0f;

    PAIR_MUL(h, l, eh, el, qh, ql)
    PAIR_TIMES_LOOSE(h, l, up ? x : t, up ? qh : h, up ? ql : l)
    h = h + l;
    EXACT float y = up ? h : s_scale_down(h, n);

    return s_copysign(x > most ? x : y, x); /* of 0 too */
}

#define SILU_MOST 120.0f
FN float s_silu(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float t = s_minus_at_most(x, SILU_MOST);
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, t, -0.0f)
    EXACT float y = gate_end(x, t, SILU_MOST, h, l, n, qh, ql);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* (yh, yl), or 1 less that for positive x: how a derivative g with
 * g(x) = 1 - g(-x) is finished. */
FN float grad_finish(float x, float yh, float yl)
{
    EXACT float h;
    EXACT float l;

    PAIR_ADD_LESS_LOOSE(h, l, 1.0f, -yh, -yl)
    return x < 0.0f ? yh : h + l;
}

/* The derivative E (1 + E - t) / (1 + E)^2 = (yh, yl), E = exp(-v), of
 * x sigmoid(v(x)) at -|x|, where -t = (th, tl) = -|x| v'(x). */
#define GATE_GRAD(yh, yl, th, tl, eh, el, n, qh, ql)                           \
    {                                                                          \
        EXACT float gg_h;                                                      \
        EXACT float gg_l;                                                      \
        /* (1 + E - t) / (1 + E) = 1 - t q */                                  \
        PAIR_MUL(gg_h, gg_l, th, tl, qh, ql)                                   \
        PAIR_ADD(gg_h, gg_l, 1.0f, gg_h, gg_l)                                 \
        EXACT float gg_c;                                                      \
        EXACT float gg_d;                                                      \
        PAIR_MUL(gg_c, gg_d, eh, el, qh, ql)                                   \
        PAIR_MUL(gg_h, gg_l, gg_c, gg_d, gg_h, gg_l)                           \
        yh = s_scale_down(gg_h, n);                                            \
        yl = s_scale_down(gg_l, n);                                            \
    }

/* d (c + d (b + d p)) = (yh, yl), d = (dh, dl), c = (ch, cl): a derivative near
 * its zero, which is at distance d. */
#define ROOT_GRAD(yh, yl, dh, dl, ch, cl, b, p)                                \
    {                                                                          \
        EXACT float rg_h;                                                      \
        EXACT float rg_l;                                                      \
        EXACT float rg_s;                                                      \
        EXACT float rg_e;                                                      \
        FAST_TWO_SUM(rg_h, rg_l, b, (dh) * (p))                                \
        PAIR_MUL(rg_h, rg_l, dh, dl, rg_h, rg_l)                               \
        FAST_TWO_SUM(rg_s, rg_e, ch, rg_h)                                     \
        rg_e = rg_e + ((cl) + rg_l);                                           \
        PAIR_MUL(yh, yl, dh, dl, rg_s, rg_e)                                   \
    }

/* Where -t is between 0.78 and 1.77: its distance d from the zero, and p. */
#define SILU_ROOT(dh, dl, p, t)                                                \
    {                                                                          \
        EXACT float sr_h;                                                      \
        EXACT float sr_l;                                                      \
        EXACT float sr_p = -4.242993e-5f;                                      \
        PAIR_ADD(sr_h, sr_l, t, 1.2784646f, -1.29792825e-8f)                   \
        sr_p = sr_p * sr_h + 0.00017169611f;                                   \
        sr_p = sr_p * sr_h + 0.00079881016f;                                   \
        sr_p = sr_p * sr_h + 0.00012857166f;                                   \
        sr_p = sr_p * sr_h - 0.0066066105f;                                    \
        sr_p = sr_p * sr_h - 0.015222708f;                                     \
        sr_p = sr_p * sr_h + 0.018874815f;                                     \
        dh = sr_h;                                                             \
        dl = sr_l;                                                             \
        p = sr_p;                                                              \
    }

/* (gh, gl) is GATE_GRAD's. */
FN float silu_grad_end(float x, float t, float gh, float gl, float dh, float dl,
                       float p)
{
    EXACT float yh;
    EXACT float yl;
    bool near = t <= -0.78f && t >= -1.77f;

    ROOT_GRAD(yh, yl, dh, dl, 0.2178117f, 2.0333164e-9f, 0.1466488f, p)
    return grad_finish(x, near ? yh : gh, near ? yl : gl);
}

FN float s_silu_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float p;
    EXACT float t = s_minus_at_most(x, SILU_MOST);
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, t, -0.0f)
    GATE_GRAD(h, l, t, -0.0f, h, l, n, qh, ql)
    SILU_ROOT(qh, ql, p, t)
    EXACT float y = silu_grad_end(x, t, h, l, qh, ql, p);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* |x| (k0 + k1 x^2) = (vh, vl), the k's are pairs; |x| < 2^20. */
#define CUBIC(vh, vl, a, k0h, k0l, k1h, k1l)                                   \
    {                                                                          \
        EXACT float cu_h;                                                      \
        EXACT float cu_l;                                                      \
        TWO_PROD(cu_h, cu_l, a, a)                                             \
        PAIR_MUL(cu_h, cu_l, cu_h, cu_l, k1h, k1l)                             \
        cu_l = cu_l + (k0l);                                                   \
        PAIR_ADD(cu_h, cu_l, k0h, cu_h, cu_l)                                  \
        PAIR_TIMES(vh, vl, a, cu_h, cu_l)                                      \
    }

/* x sigmoid(v), v = 2 sqrt(2/pi) (x + 0.044715 x^3): the tanh form. */
#define GELU_TANH_MOST 11.0f
#define GELU_TANH_PAIR(vh, vl, t)                                              \
    CUBIC(vh, vl, t, 1.5957692f, -4.534068e-8f, 0.071354814f, 2.3988325e-9f)
FN float s_gelu_tanh(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float t = s_minus_at_most(x, GELU_TANH_MOST);
    u32 n;

    GELU_TANH_PAIR(h, l, t)
    SIGMOID_PAIR(h, l, n, qh, ql, h, l)
    EXACT float y = gate_end(x, t, GELU_TANH_MOST, h, l, n, qh, ql);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* Where -t is between 0.25 and 1.25. */
#define GELU_TANH_ROOT(dh, dl, p, t)                                           \
    {                                                                          \
        EXACT float gr_h;                                                      \
        EXACT float gr_l;                                                      \
        EXACT float gr_p = 0.00020774275f;                                     \
        PAIR_ADD(gr_h, gr_l, t, 0.75246143f, -1.1339628e-8f)                   \
        gr_p = gr_p * gr_h - 0.0008531161f;                                    \
        gr_p = gr_p * gr_h - 0.0023962827f;                                    \
        gr_p = gr_p * gr_h + 0.0052449605f;                                    \
        gr_p = gr_p * gr_h + 0.019677222f;                                     \
        gr_p = gr_p * gr_h - 0.016617894f;                                     \
        gr_p = gr_p * gr_h - 0.113944076f;                                     \
        gr_p = gr_p * gr_h - 0.015782898f;                                     \
        dh = gr_h;                                                             \
        dl = gr_l;                                                             \
        p = gr_p;                                                              \
    }
/* x v'(x) */
#define GELU_TANH_SLOPE(vh, vl, t)                                             \
    CUBIC(vh, vl, t, 1.5957692f, -4.534068e-8f, 0.21406445f, -2.5408342e-10f)

/* A result that underflows is +0, as in s_gelu_grad. */
FN float gelu_tanh_grad_end(float x, float t, float gh, float gl, float dh,
                            float dl, float p)
{
    EXACT float yh;
    EXACT float yl;
    bool near = t <= -0.25f && t >= -1.25f;

    ROOT_GRAD(yh, yl, dh, dl, 0.4304001f, -1.2082441e-8f, 0.38751844f, p)
    return s_zero_plus(grad_finish(x, near ? yh : gh, near ? yl : gl));
}

FN float s_gelu_tanh_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float sh;
    EXACT float sl;
    EXACT float p;
    EXACT float t = s_minus_at_most(x, GELU_TANH_MOST);
    u32 n;

    GELU_TANH_PAIR(h, l, t)
    SIGMOID_PAIR(h, l, n, qh, ql, h, l)
    GELU_TANH_SLOPE(sh, sl, t)
    GATE_GRAD(h, l, sh, sl, h, l, n, qh, ql)
    GELU_TANH_ROOT(qh, ql, p, t)
    EXACT float y = gelu_tanh_grad_end(x, t, h, l, qh, ql, p);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). */
FN float s_softplus(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float d;
    EXACT float c;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 110.0f)
        return x > 0.0f ? x : 0.0f;
    EXP_PAIR(h, l, n, s_neg(a), -0.0f)
    EXACT float scale = s_pow2(n);

    if (a > 10.0f && x < 0.0f) /* E - E^2/2 */
        return s_scale(h + (l - 0.5f * h * h * scale), n);
    PAIR_ADD(d, c, 1.0f, h * scale, l * scale)
    if (d > 1.4142135f) {
        EXACT float f = 0.5f * d - 1.0f;

        LOG_REDUCED(h, l, f, 0.5f * c)
        PAIR_ADD(h, l, 0.6931472f, h, l - 1.9046542e-9f)
    } else {
        EXACT float f = d - 1.0f;

        LOG_REDUCED(h, l, f, c)
    }
    if (x > 0.0f)
        PAIR_ADD(h, l, x, h, l)
    return h + l;
}

/* log(sigmoid(x)), for a binary cross-entropy from logits. */
FN float s_log_sigmoid(float x)
{
    return s_neg(s_softplus(s_neg(x)));
}

/* May a pair of about 1 be multiplied by alpha, and the product be scaled? */
FN bool elu_pairs(float alpha)
{
    return s_abs(alpha) < 1048576.0f && s_abs(alpha) >= 9.5367432e-7f;
}

/* Zeros are unchanged for any alpha. */
FN float s_elu(float x, float alpha)
{
    EXACT float h;
    EXACT float l;
    u32 n;

    if (x >= 0.0f)
        return x;
    if (s_is_nan(x) || x < -20.0f || x > -2.9802322e-8f || !elu_pairs(alpha))
        return alpha * s_expm1(x);
    EXPM1_PAIR(h, l, n, x)
    PAIR_TIMES(h, l, alpha, h, l)
    return h + l;
}

FN float s_elu_grad(float x, float alpha)
{
    EXACT float h;
    EXACT float l;
    u32 n;

    if (x > 0.0f)
        return 1.0f;
    if (s_is_nan(x) || x < -125.0f || !elu_pairs(alpha))
        return alpha * s_exp(x);
    EXP_PAIR(h, l, n, x, -0.0f)
    PAIR_TIMES(h, l, alpha, h, l)
    return s_scale(h + l, n);
}

#endif
