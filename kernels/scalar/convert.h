/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - one element from any dtype to any other, on raw bits.
 *
 * Dtypes are the values of ssq_dtype: 1 f32, 2 f16, 3 bf16, 4 i32, 5 u8. The
 * rules are ssq_convert's: float to integer toward zero, saturating,
 * NaN to 0; integer to float to nearest even; integer to integer saturating.
 * All by u32 operations and exact float32 steps, so equal on every device. */
#ifndef KERNELS_SCALAR_CONVERT_H
#define KERNELS_SCALAR_CONVERT_H

#include "kernels/scalar/scalar.h"

#define DT_F32 1u
#define DT_F16 2u
#define DT_BF16 3u
#define DT_I32 4u
#define DT_U8 5u

/* values of ssq_rounding */
#define ROUND_NEAREST 0u
#define ROUND_TOWARD_ZERO 1u
#define ROUND_STOCHASTIC 2u

/* Exact halves, so that the one addition rounds to nearest even. */
FN float u32_to_f32(u32 x)
{
    EXACT float high = F32(x >> 16) * 65536.0f;
    EXACT float sum = high + F32(x & 0xffffu);
    return sum;
}

FN float i32_to_f32(u32 x)
{
    if ((x & 0x80000000u) != 0u)
        return -u32_to_f32(0u - x);
    return u32_to_f32(x);
}

/* To odd: from 2^24 on the eight lowest bits become one, which says whether any
 * was set. Exact then, and rounded to bf16, which has 16 bits fewer than
 * float32, it is what one rounding of the integer gives. */
FN float i32_to_odd(u32 x)
{
    u32 a = (x & 0x80000000u) != 0u ? 0u - x : x;

    if (a >= 0x1000000u && (a & 0xffu) != 0u)
        a = (a & 0xffffff00u) | 0x100u;
    return (x & 0x80000000u) != 0u ? -u32_to_f32(a) : u32_to_f32(a);
}

FN u32 f32_to_i32(float value)
{
    u32 x = AS_U32(value);
    u32 e = (x >> 23) & 0xffu;
    u32 negative = x >> 31;
    if ((x & 0x7fffffffu) > 0x7f800000u || e < 127u)
        return 0u;
    if (e >= 158u)
        return 0x7fffffffu + negative;
    u32 m = (x & 0x7fffffu) | 0x800000u;
    if (e >= 150u)
        m = m << (e - 150u);
    else
        m = m >> (150u - e);
    return negative != 0u ? 0u - m : m;
}

FN u32 i32_to_u8(u32 x)
{
    if ((x & 0x80000000u) != 0u)
        return 0u;
    return x > 255u ? 255u : x;
}

/* The value of raw bits as float32: exact for 16-bit floats and u8. */
FN float bits_to_f32(u32 bits, u32 dtype)
{
    if (dtype == DT_F16)
        return f16_load(bits);
    if (dtype == DT_BF16)
        return bf16_load(bits);
    if (dtype == DT_I32)
        return i32_to_f32(bits);
    if (dtype == DT_U8)
        return F32(bits);
    return AS_F32(bits);
}

FN u32 f32_to_f16(float value, u32 rounding, u32 random)
{
    if (rounding == ROUND_TOWARD_ZERO)
        return f16_store_rtz(value);
    if (rounding == ROUND_STOCHASTIC)
        return f16_store_sr(value, random);
    return f16_store(value);
}

FN u32 f32_to_bf16(float value, u32 rounding, u32 random)
{
    if (rounding == ROUND_TOWARD_ZERO)
        return bf16_store_rtz(value);
    if (rounding == ROUND_STOCHASTIC)
        return bf16_store_sr(value, random);
    return bf16_store(value);
}

/* The bits of a float32 in any dtype. */
FN u32 f32_to_bits(float value, u32 dtype, u32 rounding, u32 random)
{
    if (dtype == DT_F16)
        return f32_to_f16(value, rounding, random);
    if (dtype == DT_BF16)
        return f32_to_bf16(value, rounding, random);
    if (dtype == DT_I32)
        return f32_to_i32(value);
    if (dtype == DT_U8)
        return i32_to_u8(f32_to_i32(value));
    return AS_U32(value);
}

/* Integers are rounded to nearest, always, and once: the ones that f16 holds
 * are exact in float32. */
FN u32 convert_bits(u32 bits, u32 from, u32 to, u32 rounding, u32 random)
{
    if (from == to)
        return bits;
    if (from == DT_I32 && to == DT_U8)
        return i32_to_u8(bits);
    if (from == DT_U8 && to == DT_I32)
        return bits;
    if (from == DT_I32 && to == DT_BF16)
        return bf16_store(i32_to_odd(bits));
    if (from == DT_I32 || from == DT_U8)
        return f32_to_bits(bits_to_f32(bits, from), to, ROUND_NEAREST, 0u);
    return f32_to_bits(bits_to_f32(bits, from), to, rounding, random);
}

#endif
