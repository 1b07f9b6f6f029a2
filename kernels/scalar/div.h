/* SPDX-License-Identifier: Apache-2.0 */
/* div.h - division and square root, correctly rounded everywhere.
 *
 * Where the native ones are not promised to be, they are only seeds: the
 * quotient (or root) of the significands as a 24-bit integer, a few units off,
 * is corrected by its remainder. The remainder is a small number, so 32-bit
 * arithmetic gives it exactly although the products do not fit. */

#ifndef SSQ_KERNELS_SCALAR_DIV_H
#define SSQ_KERNELS_SCALAR_DIV_H

#include "kernels/scalar/bits.h"

#ifndef DIV_SEED /* tests put bad seeds here */
#define DIV_SEED(a, b) ((a) / (b))
#define SQRT_SEED(x)   NATIVE_SQRT(x)
#endif
/* A seed may be off by 8 units. 8 are taken from it: the rest is 0 to 16, and
 * is added in powers of two, where the remainder has room for them. */

/* Round and pack m * 2^(e - 152), bit 25 of m set, bit 0 sticky; e wraps. */
FN u32 f32_round(u32 e, u32 m)
{
    u32 below = 1u - e; /* how far under the normal range, if it is */
    u32 base = (e - 1u) << 23u;
    u32 n = m;

    if (below - 1u < 0x7fffffffu) {
        below = below > 27u ? 27u : below;
        n = (m >> below) | ((m & ((1u << below) - 1u)) != 0u ? 1u : 0u);
        base = 0u;
    } else if (e >= 255u) {
        return F32_INF;
    }
    return base + (n >> 2u) + ((n & 3u) + ((n >> 2u) & 1u) > 2u ? 1u : 0u);
}

/* The quotient of finite a, b > 0 as bits. */
FN u32 div_magnitudes(u32 a, u32 b)
{
    u32 ma = f32_significand(a);
    u32 mb = f32_significand(b);
    u32 e = f32_exponent(a) - f32_exponent(b) + 127u;

    if (ma < mb) {
        ma <<= 1u;
        e -= 1u;
    }
    EXACT float seed = DIV_SEED(F32(ma), F32(mb)) * 8388608.0f;
    u32 q = U32(seed) - 8u;
    u32 r = (ma << 23u) - q * mb;

    UNROLL for (u32 i = 0u; i < 5u; i++)
    {
        u32 units = 16u >> i;
        u32 more = mb << (4u - i);
        bool room = r >= more;

        q += room ? units : 0u;
        r -= room ? more : 0u;
    }
    q <<= 1u;
    r <<= 1u;
    if (r >= mb) {
        q += 1u;
        r -= mb;
    }
    return f32_round(e, (q << 1u) | (r != 0u ? 1u : 0u));
}

/* a / b where one of them is zero or not finite. */
FN float div_special(float a, float b)
{
    u32 ua = AS_U32(a) & 0x7fffffffu;
    u32 ub = AS_U32(b) & 0x7fffffffu;
    u32 s = (AS_U32(a) ^ AS_U32(b)) & F32_SIGN;
    u32 q = ua == F32_INF || ub == 0u ? s | F32_INF : s;

    /* choices, no branches: compilers make a switch of those, not vectors */
    q = ua == ub ? F32_NAN : q;
    q = ub > F32_INF ? AS_U32(s_quiet(b)) : q;
    q = ua > F32_INF ? AS_U32(s_quiet(a)) : q;
    return AS_F32(q);
}

/* a / b by a seed and its remainder, where the native quotient is not exact. */
FN float div_corrected(float a, float b)
{
    u32 ua = AS_U32(a) & 0x7fffffffu;
    u32 ub = AS_U32(b) & 0x7fffffffu;

    if (ua - 1u >= 0x7f7fffffu || ub - 1u >= 0x7f7fffffu)
        return div_special(a, b);
    return AS_F32(((AS_U32(a) ^ AS_U32(b)) & F32_SIGN) |
                  div_magnitudes(ua, ub));
}

/* sqrt(x), x neither positive and finite. */
FN float sqrt_special(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u))
        return s_quiet(x);
    if (u <= F32_SIGN)
        return x;
    return AS_F32(F32_NAN);
}

/* The root by a seed and its remainder. A root is never half way between two
 * floats: the remainder alone decides how it is rounded. */
FN float sqrt_corrected(float x)
{
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu)
        return sqrt_special(x);
    u32 m = f32_significand(u);
    u32 k = f32_exponent(u) + 127u; /* not negative */

    if ((k & 1u) != 0u)
        m <<= 1u;
    EXACT float seed = SQRT_SEED(F32(m) * 8388608.0f);
    u32 s = U32(seed) - 8u;
    u32 r = (m << 23u) - s * s;

    UNROLL for (u32 i = 0u; i < 5u; i++)
    {
        u32 units = 16u >> i;
        u32 more = (s << (5u - i)) + units * units; /* (s + units)^2 - s^2 */
        bool room = r >= more;

        s += room ? units : 0u;
        r -= room ? more : 0u;
    }
    return AS_F32(((k >> 1u) << 23u) + s - 0x800000u + (r > s ? 1u : 0u));
}

/* The native quotient where that is exact, but for NaNs, whose bits devices do
 * not agree in. */
FN float s_div(float a, float b)
{
#ifdef NATIVE_EXACT_DIV
    EXACT float q = NATIVE_DIV(a, b);

    return is_nan_bits(AS_U32(q)) ? div_special(a, b) : q;
#else
    return div_corrected(a, b);
#endif
}

FN float s_sqrt(float x)
{
#ifdef NATIVE_EXACT_DIV
    EXACT float s = NATIVE_SQRT(x);

    return is_nan_bits(AS_U32(s)) ? sqrt_special(x) : s;
#else
    return sqrt_corrected(x);
#endif
}

/* The same for those whose result becomes canonical, or is not seen where it
 * is a NaN: which NaN it is, is not said. Shorter where the native ones are
 * exact. */
FN float s_quotient(float a, float b)
{
#ifdef NATIVE_EXACT_DIV
    EXACT float q = NATIVE_DIV(a, b);

    return q;
#else
    return div_corrected(a, b);
#endif
}

FN float s_root(float x)
{
#ifdef NATIVE_EXACT_DIV
    EXACT float s = NATIVE_SQRT(x);

    return s;
#else
    return sqrt_corrected(x);
#endif
}

FN float s_rcp(float x)
{
    return s_div(1.0f, x);
}

#define DIV(a, b) s_div(a, b)
#define SQRT(x)   s_sqrt(x)

#endif
