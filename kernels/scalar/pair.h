/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - float32 pairs: unevaluated sums hi + lo of about 48 bits.
 *
 * Dekker's product and Knuth's sum (Numer. Math. 18, 1971; TAOCP 2, 4.2.2),
 * with the factors split by masking bits, which cannot overflow: both halves
 * have 12 bits, so their products and the differences below are exact.
 *
 * An argument is a name or a literal. An operation between two functions is a
 * separate EXACT local: GLSL has no precise argument. */

#ifndef SSQ_KERNELS_SCALAR_PAIR_H
#define SSQ_KERNELS_SCALAR_PAIR_H

#include "kernels/scalar/bits.h"
#include "kernels/scalar/div.h"

struct float_pair {
    float hi;
    float lo;
};

FN STRUCT(float_pair) pair_of(float hi, float lo)
{
    EXACT STRUCT(float_pair) p;

    p.hi = hi;
    p.lo = lo;
    return p;
}

/* Its one rounding. */
FN float pair_sum(STRUCT(float_pair) p)
{
    return p.hi + p.lo;
}

FN STRUCT(float_pair) pair_neg(STRUCT(float_pair) p)
{
    return pair_of(s_neg(p.hi), s_neg(p.lo));
}

/* p * 2^n for n <= 0, which wraps. */
FN STRUCT(float_pair) pair_scale_down(STRUCT(float_pair) p, u32 n)
{
    return pair_of(s_scale_down(p.hi, n), s_scale_down(p.lo, n));
}

/* a + b exactly. */
FN STRUCT(float_pair) two_sum(float a, float b)
{
    EXACT STRUCT(float_pair) s;

    s.hi = a + b;
    EXACT float t = s.hi - a;

    s.lo = (a - (s.hi - t)) + (b - t);
    return s;
}

/* The same where |a| >= |b| or a = 0. */
FN STRUCT(float_pair) fast_two_sum(float a, float b)
{
    EXACT STRUCT(float_pair) s;

    s.hi = a + b;
    s.lo = (a - s.hi) + b;
    return s;
}

/* a * b exactly, unless it overflows or is below 2^-100. A fused multiply-add
 * gives the same lo in one step, where that is an instruction; there it also is
 * the same as a product that is exact and a sum. */
#if defined(NATIVE) && defined(__FMA__)
#define MAD_EXACT(a, b, c) FMA(a, b, c)
#else
#define MAD_EXACT(a, b, c) MAD(a, b, c)
#endif
FN STRUCT(float_pair) two_prod(float a, float b)
{
    EXACT STRUCT(float_pair) p;

    p.hi = a * b;
#if defined(NATIVE) && defined(__FMA__)
    p.lo = FMA(a, b, -p.hi);
#else
    EXACT float ah = AS_F32(AS_U32(a) & 0xfffff000u);
    EXACT float al = a - ah;
    EXACT float bh = AS_F32(AS_U32(b) & 0xfffff000u);
    EXACT float bl = b - bh;

    p.lo = (((ah * bh - p.hi) + ah * bl) + al * bh) + al * bl;
#endif
    return p;
}

/* c - a * b, if that is a float and a * b is about c: the remainder of a
 * quotient or a root. */
FN float product_rest(float c, float a, float b)
{
#if defined(NATIVE) && defined(__FMA__)
    return FMA(-a, b, c);
#else
    EXACT STRUCT(float_pair) p = two_prod(a, b);

    return (c - p.hi) - p.lo;
#endif
}

/* a * b, relative error below 2^-44. Here and below what the functions _loose
 * leave is a pair for its sum alone; else it is pulled tight, and hi is that
 * sum. */
FN STRUCT(float_pair)
    pair_mul_loose(STRUCT(float_pair) a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) p = two_prod(a.hi, b.hi);

    p.lo = p.lo + (a.hi * b.lo + a.lo * b.hi);
    return p;
}

FN STRUCT(float_pair) pair_mul(STRUCT(float_pair) a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) p = pair_mul_loose(a, b);

    return fast_two_sum(p.hi, p.lo);
}

FN STRUCT(float_pair) pair_times_loose(float a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) p = two_prod(a, b.hi);

    p.lo = p.lo + a * b.lo;
    return p;
}

FN STRUCT(float_pair) pair_times(float a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) p = pair_times_loose(a, b);

    return fast_two_sum(p.hi, p.lo);
}

/* a + b */
FN STRUCT(float_pair) pair_add(float a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) s = two_sum(a, b.hi);

    s.lo = s.lo + b.lo;
    return fast_two_sum(s.hi, s.lo);
}

/* The same where |a| >= |b.hi|. */
FN STRUCT(float_pair) pair_add_less_loose(float a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) s = fast_two_sum(a, b.hi);

    s.lo = s.lo + b.lo;
    return s;
}

FN STRUCT(float_pair) pair_add_less(float a, STRUCT(float_pair) b)
{
    EXACT STRUCT(float_pair) s = pair_add_less_loose(a, b);

    return fast_two_sum(s.hi, s.lo);
}

/* 1 / d, for d between 2^-60 and 2^60. */
FN STRUCT(float_pair) pair_rcp(STRUCT(float_pair) d)
{
    EXACT STRUCT(float_pair) q;

    q.hi = s_quotient(1.0f, d.hi);
    EXACT float e = product_rest(1.0f, q.hi, d.hi);

    e = e - q.hi * d.lo;
    q.lo = q.hi * e;
    return q;
}

/* b^t for 0 <= b <= 1, by binary powering. The relative error is below t *
 * 2^-43; powers below 2^-60 become 0. */
FN STRUCT(float_pair) pair_pow(STRUCT(float_pair) b, u32 t)
{
    EXACT STRUCT(float_pair) r = pair_of(1.0f, 0.0f);
    EXACT STRUCT(float_pair) x = b;

    for (u32 left = t; left != 0u; left >>= 1u) {
        if ((left & 1u) != 0u)
            r = pair_mul(r, x);
        x = pair_mul(x, x);
        if (x.hi < 8.6736174e-19f)
            x = pair_of(0.0f, 0.0f);
        if (r.hi < 8.6736174e-19f)
            r = pair_of(0.0f, 0.0f);
    }
    return r;
}

/* 1 - (bh + bl)^t for 0 <= b <= 1: an optimizer's bias correction. */
FN float one_minus_pow(float bh, float bl, u32 t)
{
    EXACT STRUCT(float_pair) p = pair_pow(pair_of(bh, bl), t);

    return pair_sum(pair_add_less_loose(1.0f, pair_neg(p)));
}

/* 1 / sqrt(x): the reciprocal of the root, with both remainders put back. */
FN float s_rsqrt(float x)
{
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu) /* neither positive nor finite */
        return s_div(1.0f, s_sqrt(x));
    u32 k = f32_exponent(u) + 127u;
    u32 odd = k & 1u;
    EXACT float m =
        F32(f32_significand(u)) * (odd != 0u ? 2.3841858e-7f : 1.1920929e-7f);
    EXACT float s = s_sqrt(m);
    EXACT float y = s_div(1.0f, s);
    EXACT float r = product_rest(m, s, s);
    EXACT float t = product_rest(1.0f, s, y);

    return (y + y * (t - 0.5f * r * (y * y))) * s_pow2(127u - (k >> 1u));
}

#endif
