/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.h - sigmoid, tanh, silu, gelu in its tanh form, softplus,
 * elu, and their derivatives.
 *
 * All go through E = exp(-|x|) as a pair and 1 / (1 + E); a result that
 * is small for negative x is multiplied by 2^n last, so it keeps its accuracy
 * down to the subnormals. The limits at -infinity are returned: silu(-inf) is
 * -0. */

#ifndef SSQ_KERNELS_SCALAR_SIGMOID_H
#define SSQ_KERNELS_SCALAR_SIGMOID_H

#include "kernels/scalar/log.h"

/* 1 / (1 + e), e at most 1. If e is below 2^-126, its rounding error is less
 * than an ulp of the sum. */
FN STRUCT(float_pair) rcp_one_more(STRUCT(float_pair) e, u32 n)
{
    return pair_rcp(pair_add_less(1.0f, pair_scale_down(e, n)));
}

/* exp(v) = e * 2^n and q = 1 / (1 + exp(v)) for -125 <= v <= 0. */
struct sigmoid_parts {
    STRUCT(float_pair) e;
    STRUCT(float_pair) q;
    u32 n;
};

FN STRUCT(sigmoid_parts) sigmoid_pair(STRUCT(float_pair) v)
{
    EXACT STRUCT(exp_parts) x = exp_pair(v);
    EXACT STRUCT(sigmoid_parts) s;

    s.e = x.y;
    s.n = x.n;
    s.q = rcp_one_more(x.y, x.n);
    return s;
}

/* exp(-110) is 0 to float32, and 1 + exp(-110) is 1. */
#define SIGMOID_MOST 110.0f

/* 1 / (1 + exp(-x)); for negative x it is E / (1 + E), E scaled last. */
FN float sigmoid_end(float x, STRUCT(float_pair) e, u32 n, STRUCT(float_pair) q)
{
    EXACT float y = pair_sum(pair_mul_loose(e, q));

    return x >= 0.0f ? pair_sum(q) : s_scale_down(y, n);
}

FN float s_sigmoid(float x)
{
    EXACT float t = s_minus_at_most(x, SIGMOID_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(pair_of(t, -0.0f));
    EXACT float y = sigmoid_end(x, s.e, s.n, s.q);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* sigmoid(x) sigmoid(-x), of which the larger one is 1 beyond 110: nothing
 * cancels, and E is worked out once. */
FN float sigmoid_grad_end(STRUCT(float_pair) e, u32 n, STRUCT(float_pair) q)
{
    EXACT float y = pair_sum(pair_mul_loose(e, q));

    return pair_sum(q) * s_scale_down(y, n);
}

FN float s_sigmoid_grad(float x)
{
    EXACT float t = s_minus_at_most(x, SIGMOID_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(pair_of(t, -0.0f));
    EXACT float y = sigmoid_grad_end(s.e, s.n, s.q);

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
FN float tanh_end(float x, STRUCT(float_pair) q)
{
    EXACT float z = x * x;
    EXACT float p = 0.0022926074f;

    p = p * z - 0.008314569f;
    p = p * z + 0.021746462f;
    p = p * z - 0.053953417f;
    p = p * z + 0.13333245f;
    p = p * z - 0.3333333f;
    EXACT float near = x + x * z * p;
    EXACT float far = (2.0f * q.hi - 1.0f) + 2.0f * q.lo;

    return s_copysign(s_abs(x) < 0.55f ? near : far, x); /* -0 */
}

FN float s_tanh(float x)
{
    EXACT float twice = 2.0f * x;
    EXACT float t = s_minus_at_most(twice, TANH_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(pair_of(t, -0.0f));
    EXACT float y = tanh_end(x, s.q);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* x sigmoid(v), E = exp(-|v|) and so on, in pairs, so that it is rounded once;
 * t is -|x|, at least -most, beyond which the result is x or 0. */
FN float gate_end(float x, float t, float most, STRUCT(float_pair) e, u32 n,
                  STRUCT(float_pair) q)
{
    bool up = x > 0.0f;
    EXACT STRUCT(float_pair) p = pair_mul(e, q);

    p.hi = up ? q.hi : p.hi;
    p.lo = up ? q.lo : p.lo;
    EXACT float h = pair_sum(pair_times_loose(up ? x : t, p));
    EXACT float y = up ? h : s_scale_down(h, n);

    return s_copysign(x > most ? x : y, x); /* of 0 too */
}

#define SILU_MOST 120.0f
FN float s_silu(float x)
{
    EXACT float t = s_minus_at_most(x, SILU_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(pair_of(t, -0.0f));
    EXACT float y = gate_end(x, t, SILU_MOST, s.e, s.n, s.q);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* y, or 1 less that for positive x: how a derivative g with g(x) = 1 - g(-x) is
 * finished. */
FN float grad_finish(float x, STRUCT(float_pair) y)
{
    EXACT STRUCT(float_pair) less = pair_of(-y.hi, -y.lo);
    EXACT float other = pair_sum(pair_add_less_loose(1.0f, less));

    return x < 0.0f ? y.hi : other;
}

/* That of root_grad() near the zero, else that of gate_grad(). */
FN float grad_choose(float x, bool near, STRUCT(float_pair) root,
                     STRUCT(float_pair) gate)
{
    return grad_finish(x, pair_of(near ? root.hi : gate.hi,
                                  near ? root.lo : gate.lo));
}

/* The derivative E (1 + E - t) / (1 + E)^2, E = exp(-v) = e * 2^n, of
 * x sigmoid(v(x)) at -|x|, where -t = -|x| v'(x) and q = 1 / (1 + E). */
FN STRUCT(float_pair) gate_grad(STRUCT(float_pair) t, STRUCT(float_pair) e,
                                u32 n, STRUCT(float_pair) q)
{
    /* (1 + E - t) / (1 + E) = 1 - t q */
    EXACT STRUCT(float_pair) g = pair_add(1.0f, pair_mul(t, q));

    return pair_scale_down(pair_mul(pair_mul(e, q), g), n);
}

/* d (c + d (b + d p)): a derivative near its zero, which is at distance d. */
FN STRUCT(float_pair) root_grad(STRUCT(float_pair) d, STRUCT(float_pair) c,
                                float b, float p)
{
    EXACT float last = d.hi * p;
    EXACT STRUCT(float_pair) g = pair_mul(d, fast_two_sum(b, last));
    EXACT STRUCT(float_pair) s = fast_two_sum(c.hi, g.hi);

    s.lo = s.lo + (c.lo + g.lo);
    return pair_mul(d, s);
}

/* Where -t is between 0.78 and 1.77: its distance d from the zero, and p. */
FN STRUCT(float_pair) silu_root(float t)
{
    return pair_add(t, pair_of(1.2784646f, -1.29792825e-8f));
}

FN float silu_root_start(float d)
{
    EXACT float p = -4.242993e-5f;

    p = p * d + 0.00017169611f;
    p = p * d + 0.00079881016f;
    p = p * d + 0.00012857166f;
    p = p * d - 0.0066066105f;
    p = p * d - 0.015222708f;
    return p * d + 0.018874815f;
}

/* g is gate_grad()'s. */
FN float silu_grad_end(float x, float t, STRUCT(float_pair) g,
                       STRUCT(float_pair) d, float p)
{
    bool near = t <= -0.78f && t >= -1.77f;
    EXACT STRUCT(float_pair) r =
        root_grad(d, pair_of(0.2178117f, 2.0333164e-9f), 0.1466488f, p);

    return grad_choose(x, near, r, g);
}

FN float s_silu_grad(float x)
{
    EXACT float t = s_minus_at_most(x, SILU_MOST);
    EXACT STRUCT(float_pair) v = pair_of(t, -0.0f);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(v);
    EXACT STRUCT(float_pair) g = gate_grad(v, s.e, s.n, s.q);
    EXACT STRUCT(float_pair) d = silu_root(t);
    EXACT float y = silu_grad_end(x, t, g, d, silu_root_start(d.hi));

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* a (k0 + k1 a^2), |a| < 2^20. */
FN STRUCT(float_pair) pair_cubic(float a, STRUCT(float_pair) k0,
                            STRUCT(float_pair) k1)
{
    EXACT STRUCT(float_pair) c = pair_mul(two_prod(a, a), k1);

    c.lo = c.lo + k0.lo;
    return pair_times(a, pair_add(k0.hi, c));
}

/* x sigmoid(v), v = 2 sqrt(2/pi) (x + 0.044715 x^3): the tanh form. */
#define GELU_TANH_MOST 11.0f
FN STRUCT(float_pair) gelu_tanh_pair(float t)
{
    return pair_cubic(t, pair_of(1.5957692f, -4.534068e-8f),
                 pair_of(0.071354814f, 2.3988325e-9f));
}

FN float s_gelu_tanh(float x)
{
    EXACT float t = s_minus_at_most(x, GELU_TANH_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(gelu_tanh_pair(t));
    EXACT float y = gate_end(x, t, GELU_TANH_MOST, s.e, s.n, s.q);

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* Where -t is between 0.25 and 1.25. */
FN STRUCT(float_pair) gelu_tanh_root(float t)
{
    return pair_add(t, pair_of(0.75246143f, -1.1339628e-8f));
}

FN float gelu_tanh_root_start(float d)
{
    EXACT float p = 0.00020774275f;

    p = p * d - 0.0008531161f;
    p = p * d - 0.0023962827f;
    p = p * d + 0.0052449605f;
    p = p * d + 0.019677222f;
    p = p * d - 0.016617894f;
    p = p * d - 0.113944076f;
    return p * d - 0.015782898f;
}

/* x v'(x) */
FN STRUCT(float_pair) gelu_tanh_slope_pair(float t)
{
    return pair_cubic(t, pair_of(1.5957692f, -4.534068e-8f),
                 pair_of(0.21406445f, -2.5408342e-10f));
}

/* An underflow gives +0, as in s_gelu_grad. */
FN float gelu_tanh_grad_end(float x, float t, STRUCT(float_pair) g,
                            STRUCT(float_pair) d, float p)
{
    bool near = t <= -0.25f && t >= -1.25f;
    EXACT STRUCT(float_pair) r =
        root_grad(d, pair_of(0.4304001f, -1.2082441e-8f), 0.38751844f, p);

    return s_zero_plus(grad_choose(x, near, r, g));
}

FN float s_gelu_tanh_grad(float x)
{
    EXACT float t = s_minus_at_most(x, GELU_TANH_MOST);
    EXACT STRUCT(sigmoid_parts) s = sigmoid_pair(gelu_tanh_pair(t));
    EXACT STRUCT(float_pair) v = gelu_tanh_slope_pair(t);
    EXACT STRUCT(float_pair) g = gate_grad(v, s.e, s.n, s.q);
    EXACT STRUCT(float_pair) d = gelu_tanh_root(t);
    EXACT float y = gelu_tanh_grad_end(x, t, g, d, gelu_tanh_root_start(d.hi));

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). */
FN float s_softplus(float x)
{
    EXACT float a = s_abs(x);

    if (s_is_nan(x))
        return s_quiet(x);
    if (a > 110.0f)
        return x > 0.0f ? x : 0.0f;
    EXACT STRUCT(exp_parts) e = exp_pair(pair_of(s_neg(a), -0.0f));
    EXACT float scale = s_pow2(e.n);

    if (a > 10.0f && x < 0.0f) { /* E - E^2/2 */
        e.y.lo = e.y.lo - 0.5f * e.y.hi * e.y.hi * scale;
        return exp_value(e);
    }
    e.y.hi = e.y.hi * scale;
    e.y.lo = e.y.lo * scale;
    EXACT STRUCT(float_pair) d = pair_add(1.0f, e.y);
    EXACT STRUCT(float_pair) y;

    if (d.hi > 1.4142135f) {
        d.hi = 0.5f * d.hi - 1.0f;
        d.lo = 0.5f * d.lo;
        y = log_reduced(d);
        y.lo = y.lo - 1.9046542e-9f;
        y = pair_add(0.6931472f, y);
    } else {
        d.hi = d.hi - 1.0f;
        y = log_reduced(d);
    }
    if (x > 0.0f)
        y = pair_add(x, y);
    return pair_sum(y);
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

/* A zero is returned unchanged for any alpha. */
FN float s_elu(float x, float alpha)
{
    if (x >= 0.0f)
        return x;
    if (s_is_nan(x) || x < -20.0f || x > -2.9802322e-8f || !elu_pairs(alpha))
        return alpha * s_expm1(x);
    return pair_sum(pair_times(alpha, expm1_pair(x)));
}

FN float s_elu_grad(float x, float alpha)
{
    if (x > 0.0f)
        return 1.0f;
    if (s_is_nan(x) || x < -125.0f || !elu_pairs(alpha))
        return alpha * s_exp(x);
    EXACT STRUCT(exp_parts) e = exp_pair(pair_of(x, -0.0f));

    e.y = pair_times(alpha, e.y);
    return exp_value(e);
}

#endif
