/* SPDX-License-Identifier: Apache-2.0 */
/* bits.h - float32 and 16-bit words looked at as bits. */

#ifndef SSQ_KERNELS_SCALAR_BITS_H
#define SSQ_KERNELS_SCALAR_BITS_H

#include "kernels/dialect/dialect.h"

#define F32_SIGN 0x80000000u
#define F32_INF  0x7f800000u
#define F32_NAN  0x7fc00000u
/* 1.5 * 2^23: adding it rounds to an integer. */
#define F32_MAGIC      12582912.0f
#define F32_MAGIC_BITS 0x4b400000u

/* Never x != x: a GLSL compiler may assume that NaNs do not occur. */
FN bool is_nan_bits(u32 u)
{
    return (u & 0x7fffffffu) > 0x7f800000u;
}

FN bool is_inf_bits(u32 u)
{
    return (u & 0x7fffffffu) == 0x7f800000u;
}

FN bool is_finite_bits(u32 u)
{
    return (u & 0x7f800000u) != 0x7f800000u;
}

FN bool f16_is_nan(u32 h)
{
    return (h & 0x7fffu) > 0x7c00u;
}

FN bool f16_is_inf(u32 h)
{
    return (h & 0x7fffu) == 0x7c00u;
}

FN bool f16_is_finite(u32 h)
{
    return (h & 0x7c00u) != 0x7c00u;
}

FN bool bf16_is_nan(u32 h)
{
    return (h & 0x7fffu) > 0x7f80u;
}

FN bool bf16_is_inf(u32 h)
{
    return (h & 0x7fffu) == 0x7f80u;
}

FN bool bf16_is_finite(u32 h)
{
    return (h & 0x7f80u) != 0x7f80u;
}

FN bool s_is_nan(float x)
{
    return is_nan_bits(AS_U32(x));
}

FN float s_abs(float x)
{
    return AS_F32(AS_U32(x) & 0x7fffffffu);
}

FN float s_neg(float x)
{
    return AS_F32(AS_U32(x) ^ F32_SIGN);
}

/* |x| with the sign of s. */
FN float s_copysign(float x, float s)
{
    return AS_F32((AS_U32(x) & 0x7fffffffu) | (AS_U32(s) & F32_SIGN));
}

/* 1 where x > 0, else -0: where derivatives of gates end. x is not 0. The -0 is
 * no constant: Mesa's compiler takes a choice between 1.0 and -0.0 for the
 * condition as a float, which is 0. */
FN float s_gate_end(float x)
{
    return x > 0.0f ? 1.0f : s_copysign(0.0f, x);
}

/* The same with +0, which a sum of two terms that have both become 0 is. */
FN float s_gate_end_plus(float x)
{
    return x > 0.0f ? 1.0f : 0.0f;
}

/* -0 becomes +0. */
FN float s_zero_plus(float x)
{
    return AS_U32(x) == F32_SIGN ? 0.0f : x;
}

/* A NaN made quiet. */
FN float s_quiet(float x)
{
    return AS_F32(AS_U32(x) | 0x00400000u);
}

/* x, but any NaN is the one NaN: sums and products of devices differ in the
 * sign and payload of theirs. */
FN float s_canonical(float x)
{
    u32 u = AS_U32(x);

    return AS_F32(is_nan_bits(u) ? F32_NAN : u);
}

/* How far to shift u != 0 left until its bit 31 is set. */
FN u32 u32_leading_zeros(u32 u)
{
    u32 n = 0u;
    u32 v = u;

    if (v < 0x00010000u) {
        n += 16u;
        v <<= 16u;
    }
    if (v < 0x01000000u) {
        n += 8u;
        v <<= 8u;
    }
    if (v < 0x10000000u) {
        n += 4u;
        v <<= 4u;
    }
    if (v < 0x40000000u) {
        n += 2u;
        v <<= 2u;
    }
    if (v < 0x80000000u)
        n += 1u;
    return n;
}

/* The high word of a * b: native, or from 16-bit halves. */
FN u32 u32_mul_high(u32 a, u32 b)
{
#ifdef MUL_HIGH
    return MUL_HIGH(a, b);
#else
    u32 al = a & 0xffffu;
    u32 ah = a >> 16u;
    u32 bl = b & 0xffffu;
    u32 bh = b >> 16u;
    u32 mid = ah * bl + ((al * bl) >> 16u);
    u32 low = al * bh + (mid & 0xffffu);

    return ah * bh + (mid >> 16u) + (low >> 16u);
#endif
}

/* u rounded to nearest even: both halves are exact, their sum rounds. */
FN float u32_to_float(u32 u)
{
    return F32(u >> 16u) * 65536.0f + F32(u & 0xffffu);
}

/* The exponent and the significand of a finite x > 0, subnormals included:
 * x = significand * 2^(exponent - 150), bit 23 of the significand set. The
 * exponent wraps: it is between -22 and 254. */
FN u32 f32_exponent(u32 magnitude)
{
    u32 e = magnitude >> 23u;

    if (e == 0u)
        e = 9u - u32_leading_zeros(magnitude);
    return e;
}

FN u32 f32_significand(u32 magnitude)
{
    u32 m = (magnitude & 0x7fffffu) | 0x800000u;

    if (magnitude < 0x800000u)
        m = magnitude << (u32_leading_zeros(magnitude) - 8u);
    return m;
}

/* 2^n for -126 <= n <= 127, 0 for smaller n; n wraps. */
FN float s_pow2(u32 n)
{
    u32 e = n + 127u;

    return AS_F32(e - 1u < 254u ? e << 23u : 0u);
}

/* y * 2^n, rounded once, for |y| between 2^-20 and 2^20 and any wrapped n
 * between -252 and 252: the first factor, 2^floor(n / 2), cannot underflow
 * before it has to, nor can it overflow. */
FN float s_scale(float y, u32 n)
{
    u32 e = n + 254u;
    u32 half_e = e >> 1u;

    return y * AS_F32(half_e << 23u) * AS_F32((e - half_e) << 23u);
}

/* The same for |y| from 1/2 on and n between -189 and 42, in fewer operations:
 * y is multiplied first by 2^(n + 64), then by 2^-64. */
FN float s_scale_down(float y, u32 n)
{
    return y * AS_F32((n << 23u) + 0x5f800000u) * 5.4210109e-20f;
}

/* -|x| or, if that is greater, -most: also where x is a NaN. As integers, since
 * compilers make branches of a choice between floats of which one is constant.
 */
FN float s_minus_at_most(float x, float most)
{
    u32 u = AS_U32(x) | F32_SIGN;
    u32 m = AS_U32(most) | F32_SIGN;

    return AS_F32(u < m ? u : m);
}

#endif
