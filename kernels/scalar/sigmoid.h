/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.h - sigmoid, tanh, silu, gelu in its tanh form, softplus,
 * elu, and their derivatives.
 *
 * All go through E = exp(-|x|) as a pair and 1 / (1 + E); what is small for
 * negative x is multiplied by 2^n last, so it keeps its accuracy down to the
 * subnormals. The limits at -infinity are returned: silu(-inf) is -0. */

#ifndef SSQ_KERNELS_SCALAR_SIGMOID_H
#define SSQ_KERNELS_SCALAR_SIGMOID_H

#include "kernels/scalar/log.h"

/* exp(-v) = (h, l) * 2^n and 1 / (1 + exp(-v)) = (qh, ql) for the pair
 * 0 <= v <= 170. */
#define SIGMOID_PAIR(h, l, n, qh, ql, vh, vl)                                  \
    {                                                                          \
        EXACT float sp_h;                                                      \
        EXACT float sp_l;                                                      \
        EXACT float sp_d;                                                      \
        EXACT float sp_e;                                                      \
        EXP_PAIR(sp_h, sp_l, n, s_neg(vh), s_neg(vl))                          \
        EXACT float sp_2 = s_pow2(n);                                          \
        PAIR_ADD(sp_d, sp_e, 1.0f, sp_h *sp_2, sp_l *sp_2)                     \
        PAIR_RCP(qh, ql, sp_d, sp_e)                                           \
        h = sp_h;                                                              \
        l = sp_l;                                                              \
    }

/* 1 / (1 + exp(-x)); for negative x it is E / (1 + E), E scaled last. Choices,
 * no branches: of those with constants compilers make no vectors. */
FN float s_sigmoid(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float a = s_abs(x);
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, a, 0.0f)
    PAIR_MUL(h, l, h, l, qh, ql)
    EXACT float y = x >= 0.0f ? qh + ql : s_scale(h + l, n);

    y = a > 110.0f ? s_gate_end_plus(x) : y;
    return s_is_nan(x) ? s_quiet(x) : y;
}

/* sigmoid(x) sigmoid(-x), of which the larger one is 1 beyond 110: nothing
 * cancels, and E is worked out once. */
FN float s_sigmoid_grad(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float a = s_abs(x);
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, a, 0.0f)
    PAIR_MUL(h, l, h, l, qh, ql)
    EXACT float y = (qh + ql) * s_scale(h + l, n);

    y = a > 110.0f ? 0.0f : y;
    return s_is_nan(x) ? s_quiet(x) : y;
}

FN float s_softplus_grad(float x)
{
    return s_sigmoid(x);
}

/* An odd polynomial near 0, where the other form would cancel; above 10 it is 1
 * to less than half an ulp. */
FN float s_tanh(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 10.0f)
        return s_copysign(1.0f, x);
    if (a < 0.55f) {
        EXACT float z = x * x;
        EXACT float p = 0.0022926074f;

        p = p * z - 0.008314569f;
        p = p * z + 0.021746462f;
        p = p * z - 0.053953417f;
        p = p * z + 0.13333245f;
        p = p * z - 0.3333333f;
        return s_copysign(x + x * z * p, x); /* -0 */
    }
    /* tanh(a) = 2 / (1 + exp(-2a)) - 1 */
    SIGMOID_PAIR(h, l, n, qh, ql, 2.0f * a, 0.0f)
    PAIR_ADD(h, l, -1.0f, 2.0f * qh, 2.0f * ql)
    return s_copysign(h + l, x);
}

/* x sigmoid(x), in pairs, so that it is rounded once. */
FN float s_silu(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 120.0f)
        return x > 0.0f ? x : AS_F32(F32_SIGN);
    if (a < 2.9802322e-8f) /* 2^-25: a factor of exactly 1/2 */
        return 0.5f * x;
    SIGMOID_PAIR(h, l, n, qh, ql, a, 0.0f)
    if (x >= 0.0f) {
        PAIR_TIMES(h, l, x, qh, ql)
        return h + l;
    }
    PAIR_MUL(h, l, h, l, qh, ql)
    PAIR_TIMES(h, l, x, h, l)
    return s_scale(h + l, n);
}

/* (yh, yl) * 2^n, or 1 less that for positive x: how a derivative g with
 * g(x) = 1 - g(-x) is finished. */
FN float grad_finish(float x, float yh, float yl, u32 n)
{
    EXACT float h;
    EXACT float l;
    EXACT float scale = s_pow2(n);

    if (x < 0.0f)
        return s_scale(yh + yl, n);
    PAIR_ADD(h, l, 1.0f, s_neg(yh) * scale, s_neg(yl) * scale)
    return h + l;
}

/* The derivative E (1 + E - t) / (1 + E)^2, E = exp(-v), of x sigmoid(v(x)) at
 * -|x|, where t = |x| v'(x); x only tells the side. */
FN float gate_grad(float x, float vh, float vl, float th, float tl)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float sh;
    EXACT float sl;
    u32 n;

    SIGMOID_PAIR(h, l, n, qh, ql, vh, vl)
    /* (1 + E - t) / (1 + E) = 1 - t q */
    PAIR_MUL(sh, sl, s_neg(th), s_neg(tl), qh, ql)
    PAIR_ADD(sh, sl, 1.0f, sh, sl)
    PAIR_MUL(h, l, h, l, qh, ql)
    PAIR_MUL(h, l, h, l, sh, sl)
    return grad_finish(x, h, l, n);
}

/* d (c + d (b + d p)), d = (dh, dl), c = (ch, cl): a derivative near its zero,
 * which is at distance d, for negative x; 1 less that for positive x. */
FN float root_grad(float x, float dh, float dl, float ch, float cl, float b,
                   float p)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;

    FAST_TWO_SUM(qh, ql, b, dh * p)
    PAIR_MUL(qh, ql, dh, dl, qh, ql)
    FAST_TWO_SUM(h, l, ch, qh)
    l = l + (cl + ql);
    PAIR_MUL(h, l, dh, dl, h, l)
    return grad_finish(x, h, l, 0u);
}

FN float s_silu_grad(float x)
{
    EXACT float a = s_abs(x);

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 120.0f)
        return s_gate_end(x);
    if (a < 0.78f || a > 1.77f)
        return gate_grad(x, a, 0.0f, a, 0.0f);
    EXACT float dh;
    EXACT float dl;
    EXACT float p = -4.242993e-5f;

    PAIR_ADD(dh, dl, s_neg(a), 1.2784646f, -1.29792825e-8f)
    p = p * dh + 0.00017169611f;
    p = p * dh + 0.00079881016f;
    p = p * dh + 0.00012857166f;
    p = p * dh - 0.0066066105f;
    p = p * dh - 0.015222708f;
    p = p * dh + 0.018874815f;
    return root_grad(x, dh, dl, 0.2178117f, 2.0333164e-9f, 0.1466488f, p);
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
FN float s_gelu_tanh(float x)
{
    EXACT float h;
    EXACT float l;
    EXACT float qh;
    EXACT float ql;
    EXACT float a = s_abs(x);
    u32 n;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 11.0f)
        return x > 0.0f ? x : AS_F32(F32_SIGN);
    if (a < 2.9802322e-8f) /* 2^-25 */
        return 0.5f * x;
    CUBIC(h, l, a, 1.5957692f, -4.534068e-8f, 0.071354814f, 2.3988325e-9f)
    SIGMOID_PAIR(h, l, n, qh, ql, h, l)
    if (x >= 0.0f) {
        PAIR_TIMES(h, l, x, qh, ql)
        return h + l;
    }
    PAIR_MUL(h, l, h, l, qh, ql)
    PAIR_TIMES(h, l, x, h, l)
    return s_scale(h + l, n);
}

/* What underflows is +0, as in s_gelu_grad. */
FN float s_gelu_tanh_grad(float x)
{
    EXACT float a = s_abs(x);

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 11.0f)
        return s_gate_end_plus(x);
    if (a < 0.25f || a > 1.25f) {
        EXACT float vh;
        EXACT float vl;
        EXACT float th;
        EXACT float tl;

        CUBIC(vh, vl, a, 1.5957692f, -4.534068e-8f, 0.071354814f, 2.3988325e-9f)
        CUBIC(th, tl, a, 1.5957692f, -4.534068e-8f, 0.21406445f,
              -2.5408342e-10f)
        return s_zero_plus(gate_grad(x, vh, vl, th, tl));
    }
    EXACT float dh;
    EXACT float dl;
    EXACT float p = 0.00020774275f;

    PAIR_ADD(dh, dl, s_neg(a), 0.75246143f, -1.1339628e-8f)
    p = p * dh - 0.0008531161f;
    p = p * dh - 0.0023962827f;
    p = p * dh + 0.0052449605f;
    p = p * dh + 0.019677222f;
    p = p * dh - 0.016617894f;
    p = p * dh - 0.113944076f;
    p = p * dh - 0.015782898f;
    return root_grad(x, dh, dl, 0.4304001f, -1.2082441e-8f, 0.38751844f, p);
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
    EXP_PAIR(h, l, n, s_neg(a), 0.0f)
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

/* log(sigmoid(x)): what a binary cross-entropy from logits needs. */
FN float s_log_sigmoid(float x)
{
    return s_neg(s_softplus(s_neg(x)));
}

/* May a pair of about 1 be multiplied by alpha, and the product be scaled? */
FN bool elu_pairs(float alpha)
{
    return s_abs(alpha) < 1048576.0f && s_abs(alpha) >= 9.5367432e-7f;
}

/* Zeros stay what they are, whatever alpha is. */
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
    EXP_PAIR(h, l, n, x, 0.0f)
    PAIR_TIMES(h, l, alpha, h, l)
    return s_scale(h + l, n);
}

#endif
