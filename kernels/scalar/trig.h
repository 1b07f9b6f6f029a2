/* SPDX-License-Identifier: Apache-2.0 */
/* trig.h - sin and cos of every finite float32. */

#ifndef SSQ_KERNELS_SCALAR_TRIG_H
#define SSQ_KERNELS_SCALAR_TRIG_H

#include "kernels/scalar/pair.h"

/* A zero word, then 2/pi after its point. */
FN u32 two_over_pi(u32 i)
{
    u32 w = 0xfe5163abu;

    /* choices, no branches: see div_special */
    w = i == 6u ? 0x3c439041u : w;
    w = i == 5u ? 0xdb629599u : w;
    w = i == 4u ? 0xf534ddc0u : w;
    w = i == 3u ? 0xfc2757d1u : w;
    w = i == 2u ? 0x4e441529u : w;
    w = i == 1u ? 0xa2f9836eu : w;
    return i == 0u ? 0u : w;
}

/* Word i of 2/pi as seen after leaving out n bits. */
FN u32 two_over_pi_from(u32 i, u32 n)
{
    u32 j = i + (n >> 5u);
    u32 b = n & 31u;
    u32 w = two_over_pi(j);

    if (b != 0u)
        w = (w << b) | (two_over_pi(j + 1u) >> (32u - b));
    return w;
}

/* sin of r + c, |r| <= pi/4. */
FN float sin_reduced(float r, float c)
{
    EXACT float z = r * r;
    EXACT float p = 2.7891288e-6f;

    p = p * z - 0.00019848763f;
    p = p * z + 0.008333369f;
    p = p * z - 0.16666667f;
    return r + (r * z * p + c * (1.0f - 0.5f * z));
}

/* cos of r + c, |r| <= pi/4. */
FN float cos_reduced(float r, float c)
{
    EXACT float z = r * r;
    EXACT float p = -2.870664e-7f;

    p = p * z + 2.48202e-5f;
    p = p * z - 0.0013888975f;
    p = p * z + 0.041666668f;
    EXACT float a = 0.5f * z;
    EXACT float w = 1.0f - a;

    return w + (((1.0f - w) - a) + (z * z * p - r * c));
}

/* sin(x + shift pi/2), for x >= 0 given as bits. The fraction of x 2/pi comes
 * from the 96 bits of 2/pi that matter for it (Payne and Hanek, 1983): bits
 * that are worth a multiple of 4 quadrants are left out. 62 bits remain, and
 * no float32 is closer than 2^-30 to a multiple of pi/2. */
FN float sin_quadrant(u32 u, u32 shift)
{
    u32 e = u >> 23u;
    u32 m = (u & 0x7fffffu) | 0x800000u;

    if (u < 0x3f490fdbu) /* pi/4 */
        return shift == 0u ? sin_reduced(AS_F32(u), 0.0f)
                           : cos_reduced(AS_F32(u), 0.0f);
    u32 w0 = two_over_pi_from(0u, e - 120u);
    u32 w1 = two_over_pi_from(1u, e - 120u);
    u32 w2 = two_over_pi_from(2u, e - 120u);
    u32 lo = w1 * m;
    u32 hi = w0 * m + u32_mul_high(w1, m);
    u32 carry = u32_mul_high(w2, m);

    lo += carry;
    hi += lo < carry ? 1u : 0u;
    u32 quadrant = (hi >> 30u) + shift;
    u32 sign = 0u;

    hi = (hi << 2u) | (lo >> 30u);
    lo <<= 2u;
    if (hi >= 0x80000000u) { /* to the nearest quadrant */
        quadrant += 1u;
        sign = F32_SIGN;
        hi = ~hi + (lo == 0u ? 1u : 0u);
        lo = 0u - lo;
    }
    u32 scale = 127u << 23u;

    if (hi == 0u) {
        hi = lo;
        lo = 0u;
        scale -= 32u << 23u;
    }
    u32 n = u32_leading_zeros(hi | 1u);

    if (n != 0u) {
        hi = (hi << n) | (lo >> (32u - n));
        lo <<= n;
    }
    scale -= n << 23u;
    EXACT float a = F32(hi >> 8u) * 5.9604645e-8f;
    EXACT float b = F32(((hi & 0xffu) << 16u) | (lo >> 16u)) * 3.5527137e-15f;

    EXACT STRUCT(float_pair) p = two_prod(a, 1.5707964f); /* pi/2 as a pair */

    p.lo = p.lo + (b * 1.5707964f + a * -4.371139e-8f);
    p.hi = p.hi * AS_F32(scale);
    p.lo = p.lo * AS_F32(scale);
    EXACT float r = AS_F32(AS_U32(p.hi) ^ sign);
    EXACT float c = AS_F32(AS_U32(p.lo) ^ sign);
    EXACT float y =
        (quadrant & 1u) == 0u ? sin_reduced(r, c) : cos_reduced(r, c);

    return (quadrant & 2u) == 0u ? y : s_neg(y);
}

FN float s_sin(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u))
        return s_quiet(x);
    if (is_inf_bits(u))
        return AS_F32(F32_NAN);
    EXACT float y = sin_quadrant(u & 0x7fffffffu, 0u);

    return AS_F32(AS_U32(y) ^ (u & F32_SIGN));
}

FN float s_cos(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u))
        return s_quiet(x);
    if (is_inf_bits(u))
        return AS_F32(F32_NAN);
    return sin_quadrant(u & 0x7fffffffu, 1u);
}

#endif
