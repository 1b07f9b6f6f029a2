/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h - float32 to and from f16 and bf16, in u32 operations.
 *
 * Bit-exact on every device, also where float32 subnormals are flushed. NaN
 * stays NaN: quiet, sign and the upper payload bits kept. The _sr stores round
 * away from zero with the probability of the bits they drop: unbiased, exact
 * values never move, and a finite value becomes infinite only if it may when
 * rounded to nearest. They use the lowest bits of r, as many as are dropped. */

#ifndef SSQ_KERNELS_SCALAR_CAST_H
#define SSQ_KERNELS_SCALAR_CAST_H

#include "kernels/scalar/bits.h"

#ifdef NATIVE_HALF_LOAD
#define f16_load(h) NATIVE_F16(h)
#else
FN float f16_load(u32 h)
{
    u32 s = (h & 0x8000u) << 16u;
    u32 a = (h & 0x7fffu) << 13u;
    u32 u = a + 0x38000000u;

    if (a >= 0x0f800000u)
        u = a + 0x70000000u + (a > 0x0f800000u ? 0x00400000u : 0u);
    if (a >= 0x0fc00000u) /* quiet already */
        u = a + 0x70000000u;
    if (a < 0x00800000u) /* subnormal: exact, and normal in float32 */
        u = AS_U32(F32(h & 0x3ffu) * 5.9604645e-8f);
    return AS_F32(s | u);
}
#endif

/* |x| < 2^-14 in units of 2^-24, cut off: how many bits go. */
FN u32 f16_dropped(u32 a)
{
    u32 e = a >> 23u;

    return 126u - (e == 0u ? 1u : e);
}

/* A NaN as f16: quiet, with its sign and the upper bits of its payload. */
FN u32 f16_nan(u32 u)
{
    return ((u >> 16u) & 0x8000u) | 0x7e00u | ((u >> 13u) & 0x3ffu);
}

/* To nearest, ties to even. */
#ifdef NATIVE_HALF_STORE
#define f16_store(x) NATIVE_F16_BITS(x)
#else
FN u32 f16_store(float x)
{
    u32 u = AS_U32(x);
    u32 s = (u >> 16u) & 0x8000u;
    u32 a = u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return f16_nan(u);
    if (a >= 0x477ff000u) /* 65520 */
        return s | 0x7c00u;
    if (a >= 0x38800000u) /* 2^-14 */
        return s | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u);
#ifdef SUM_TO_NEAREST /* an ulp of 0.5 is a subnormal unit: it rounds */
    EXACT float sum = AS_F32(a) + 0.5f;

    return s | (AS_U32(sum) - 0x3f000000u);
#else
    if (a <= 0x33000000u) /* 2^-25, a tie */
        return s;
    u32 n = f16_dropped(a);
    u32 m = (a & 0x7fffffu) | 0x800000u;

    return s | ((m + (1u << (n - 1u)) - 1u + ((m >> n) & 1u)) >> n);
#endif
}
#endif

/* Toward zero. */
FN u32 f16_store_rtz(float x)
{
    u32 u = AS_U32(x);
    u32 s = (u >> 16u) & 0x8000u;
    u32 a = u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return f16_nan(u);
    if (a == 0x7f800000u)
        return s | 0x7c00u;
    if (a >= 0x47800000u) /* 65536 */
        return s | 0x7bffu;
    if (a >= 0x38800000u)
        return s | ((a - 0x38000000u) >> 13u);
    if (a < 0x33800000u) /* 2^-24 */
        return s;
    return s | (((a & 0x7fffffu) | 0x800000u) >> f16_dropped(a));
}

/* Stochastic, for |x| < 2^-14. At most 32 random bits: the part below 2^-56 is
 * cut off. */
FN u32 f16_tiny_sr(u32 a, u32 r)
{
    u32 n = f16_dropped(a);
    u32 m = a >= 0x00800000u ? (a & 0x7fffffu) | 0x800000u : a;

    if (n < 32u)
        return (m + (r & ((1u << n) - 1u))) >> n;
    if (n >= 56u)
        return 0u;
    m >>= n - 32u;
    return m + r < m ? 1u : 0u; /* the carry out of 32 bits */
}

/* Stochastically: the random bits are added below the last one that stays. What
 * would reach infinity only by that becomes the greatest finite number. */
FN u32 f16_store_sr(float x, u32 r)
{
    u32 u = AS_U32(x);
    u32 s = (u >> 16u) & 0x8000u;
    u32 a = u & 0x7fffffffu;

    if (a > 0x7f800000u)
        return f16_nan(u);
    if (a >= 0x47800000u)
        return s | 0x7c00u;
    if (a < 0x38800000u)
        return s | f16_tiny_sr(a, r);
    u32 h = (a - 0x38000000u + (r & 0x1fffu)) >> 13u;

    if (h == 0x7c00u && a < 0x477ff000u)
        h = 0x7bffu;
    return s | h;
}

/* The upper half of a float32; a signalling NaN becomes quiet. */
FN float bf16_load(u32 h)
{
    u32 u = (h & 0xffffu) << 16u;

    return AS_F32(is_nan_bits(u) ? u | 0x00400000u : u);
}

/* To nearest, ties to even. */
FN u32 bf16_store(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u))
        return (u >> 16u) | 0x40u;
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

/* Toward zero. */
FN u32 bf16_store_rtz(float x)
{
    u32 u = AS_U32(x);

    return (u >> 16u) | (is_nan_bits(u) ? 0x40u : 0u);
}

/* Stochastically, too: bf16 has float32's exponents, so that the words are
 * added as they are. */
FN u32 bf16_store_sr(float x, u32 r)
{
    u32 u = AS_U32(x);
    u32 h = (u + (r & 0xffffu)) >> 16u;

    if (is_nan_bits(u))
        return (u >> 16u) | 0x40u;
    if (bf16_is_inf(h) && (u & 0x7fffffffu) < 0x7f7f8000u)
        h -= 1u;
    return h;
}

/* Kernels of one 16-bit format: -DBF16 or f16. */
#ifdef BF16
#define LOADH(b, i)     bf16_load(U32(b[i]))
#define STOREH(b, i, x) b[i] = U16(bf16_store(x))
#define H16_EXPONENT    0x7f80u
#else
#define LOADH(b, i)     f16_load(U32(b[i]))
#define STOREH(b, i, x) b[i] = U16(f16_store(x))
#define H16_EXPONENT    0x7c00u
#endif
#define H16_NONFINITE(h) (((h)&H16_EXPONENT) == H16_EXPONENT)

#endif
