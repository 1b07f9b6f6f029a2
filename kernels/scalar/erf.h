/* SPDX-License-Identifier: Apache-2.0 */
/* erf.h - erf, erfc, gelu and its derivative.
 *
 * In the tail erfc(z) = exp(-z^2) G(u) u with u = 1 / (z + 1.5): G is a
 * polynomial, z^2 and the product are pairs. */

#ifndef SSQ_KERNELS_SCALAR_ERF_H
#define SSQ_KERNELS_SCALAR_ERF_H

#include "kernels/scalar/sigmoid.h"

/* 1 / (z + 1.5) for z >= 0. */
FN STRUCT(float_pair) erfc_rcp(STRUCT(float_pair) z)
{
    return pair_rcp(pair_add(1.5f, z));
}

/* G's polynomial in u - 0.3125, without its last two steps. */
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

/* erfc(z) exp(z^2) for the u of a z >= 0.345, p = erfc_start(u.hi): the last
 * two steps as pairs, with the low part of x times an approximate G'. */
FN STRUCT(float_pair) erfc_scaled(STRUCT(float_pair) u, float p)
{
    EXACT STRUCT(float_pair) x = two_sum(u.hi, -0.3125f);

    x.lo = x.lo + u.lo;
    EXACT float step = x.hi * p;
    EXACT STRUCT(float_pair) q = fast_two_sum(1.4935385f, step);
    EXACT float y = x.lo * (1.4935385f + 1.5185677f * x.hi) + x.hi * q.lo;

    q = two_prod(x.hi, q.hi);
    EXACT STRUCT(float_pair) d = fast_two_sum(0.93332255f, q.hi);

    d.lo = d.lo + ((q.lo + y) + 1.4208705e-9f);
    return pair_mul(d, u);
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

/* exp(v) w */
FN STRUCT(exp_parts) erfc_join(STRUCT(float_pair) v, STRUCT(float_pair) w)
{
    EXACT STRUCT(exp_parts) e = exp_pair(v);

    e.y = pair_mul(e.y, w);
    return e;
}

/* erfc(a) for 0.5 <= a <= 12. */
FN STRUCT(exp_parts) erfc_pair(float a)
{
    EXACT STRUCT(float_pair) u = erfc_rcp(pair_of(a, 0.0f));

    return erfc_join(pair_neg(two_prod(a, a)),
                     erfc_scaled(u, erfc_start(u.hi)));
}

/* whole - e */
FN float erfc_less(float whole, STRUCT(exp_parts) e)
{
    EXACT float scale = s_pow2(e.n);
    EXACT STRUCT(float_pair) y = pair_neg(e.y);

    y.hi = y.hi * scale;
    y.lo = y.lo * scale;
    return pair_sum(pair_add(whole, y));
}

/* A polynomial below 0.5; 1 - erfc in pairs above, and 1 beyond 4. */
FN float s_erf(float x)
{
    EXACT float a = s_abs(x);
    EXACT float z = x * x;

    if (s_is_nan(x))
        return s_quiet(x);
    if (a < 0.5f)
        return x + x * erf_excess(z);
    if (a > 4.0f)
        return s_copysign(1.0f, x);
    return s_copysign(erfc_less(1.0f, erfc_pair(a)), x);
}

/* 1 - erf below 0.5, 2 - erfc(-x) for negative x; the tail is scaled last, so
 * that it keeps its accuracy down to the subnormals. */
FN float s_erfc(float x)
{
    EXACT float a = s_abs(x);

    if (s_is_nan(x))
        return s_quiet(x);
    if (a < 0.5f) {
        EXACT float z = x * x;
        EXACT STRUCT(float_pair) y = two_sum(1.0f, s_neg(x));

        return y.hi + (y.lo - x * erf_excess(z));
    }
    if (a > 11.0f)
        return x > 0.0f ? 0.0f : 2.0f;
    EXACT STRUCT(exp_parts) e = erfc_pair(a);

    return x > 0.0f ? exp_value(e) : erfc_less(2.0f, e);
}

/* sqrt(1/2) x */
FN STRUCT(float_pair) gelu_z(float x)
{
    return pair_times(x, pair_of(0.70710677f, 1.21016175e-8f));
}

/* -x^2 / 2 */
FN STRUCT(float_pair) gelu_exponent(float x)
{
    EXACT STRUCT(float_pair) v = two_prod(x, x);

    v.hi = -0.5f * v.hi;
    v.lo = -0.5f * v.lo;
    return v;
}

/* erfc_rcp() of |x| sqrt(1/2), t = -|x| */
FN STRUCT(float_pair) gelu_rcp(float t)
{
    return erfc_rcp(gelu_z(-t));
}

/* 1/2 erf(x sqrt(1/2)) for |x| < 1/2 */
FN STRUCT(float_pair) gelu_near(float x)
{
    EXACT STRUCT(float_pair) z = gelu_z(x);
    EXACT float square = z.hi * z.hi;

    z.lo = z.lo + z.hi * erf_excess(square);
    z.hi = 0.5f * z.hi;
    z.lo = 0.5f * z.lo;
    return z;
}

/* x times the normal distribution function, 1/2 erfc(-x / sqrt(2)), which is
 * 1/2 and gelu_near()'s z below 1/2, else 1 less the tail w * 2^(n - 1) for
 * positive x: a sum of two each time. t is -|x|, at least -GELU_MOST, beyond
 * which the result is x or 0. */
#define GELU_MOST 15.0f
FN float gelu_end(float x, float t, STRUCT(float_pair) w, u32 n,
                  STRUCT(float_pair) z)
{
    EXACT STRUCT(float_pair) s = pair_scale_down(w, n - 1u);
    bool near = t > -0.5f;
    bool tail = t <= -0.5f && x < 0.0f;

    s.hi = near ? z.hi : -s.hi;
    s.lo = near ? z.lo : -s.lo;
    s = pair_add_less(near ? 0.5f : 1.0f, s);
    s.hi = tail ? w.hi : s.hi;
    s.lo = tail ? w.lo : s.lo;
    EXACT float h = pair_sum(pair_times_loose(tail ? t : x, s));
    EXACT float y = tail ? s_scale_down(h, n - 1u) : h;

    return s_copysign(x > GELU_MOST ? x : y, x); /* of 0 too */
}

FN float s_gelu(float x)
{
    EXACT float t = s_minus_at_most(x, GELU_MOST);
    EXACT STRUCT(float_pair) u = gelu_rcp(t);
    EXACT STRUCT(exp_parts) e =
        erfc_join(gelu_exponent(t), erfc_scaled(u, erfc_start(u.hi)));
    EXACT float y = gelu_end(x, t, e.y, e.n, gelu_near(x));

    return s_is_nan(x) ? s_quiet(x) : y;
}

/* Where -t is at most 1.25: its distance d from the zero, 0.7518, and p of
 * root_grad(). */
FN STRUCT(float_pair) gelu_root(float t)
{
    return pair_add(t, pair_of(0.75179154f, -1.211445e-8f));
}

FN float gelu_root_start(float d)
{
    EXACT float p = 6.0500755e-5f;

    p = p * d + 0.00018333698f;
    p = p * d - 0.00072958926f;
    p = p * d - 0.0022397605f;
    p = p * d + 0.0045355903f;
    p = p * d + 0.019421685f;
    p = p * d - 0.014771136f;
    p = p * d - 0.11400821f;
    return p * d - 0.018199692f;
}

/* e (w/2 + t / sqrt(2 pi)) * 2^n */
FN STRUCT(float_pair) gelu_grad_pair(float t, STRUCT(float_pair) e, u32 n,
                                     STRUCT(float_pair) w)
{
    EXACT STRUCT(float_pair) g =
        pair_times(t, pair_of(0.3989423f, -1.133517e-8f));
    EXACT float half_w = 0.5f * w.hi;

    g.lo = g.lo + 0.5f * w.lo;
    return pair_scale_down(pair_mul(e, pair_add(half_w, g)), n);
}

/* The normal distribution function plus x times its density: for negative x
 * g of gelu_grad_pair(). An underflow gives +0: Phi(x) + x phi(x) is the sum of
 * +0 and -0 then. */
#define GELU_GRAD_MOST 16.0f
FN float gelu_grad_end(float x, float t, STRUCT(float_pair) g,
                       STRUCT(float_pair) d, float p)
{
    EXACT STRUCT(float_pair) r =
        root_grad(d, pair_of(0.431494f, -5.176417e-9f), 0.38828498f, p);

    return s_zero_plus(grad_choose(x, t >= -1.25f, r, g));
}

FN float s_gelu_grad(float x)
{
    EXACT float t = s_minus_at_most(x, GELU_GRAD_MOST);
    EXACT STRUCT(exp_parts) e = exp_pair(gelu_exponent(t));
    EXACT STRUCT(float_pair) u = gelu_rcp(t);
    EXACT STRUCT(float_pair) w = erfc_scaled(u, erfc_start(u.hi));
    EXACT STRUCT(float_pair) g = gelu_grad_pair(t, e.y, e.n, w);
    EXACT STRUCT(float_pair) d = gelu_root(t);
    EXACT float y = gelu_grad_end(x, t, g, d, gelu_root_start(d.hi));

    return s_is_nan(x) ? s_quiet(x) : y;
}

#endif
