/* SPDX-License-Identifier: Apache-2.0 */
/* wide.h - what binary64 would say, in u32 operations.
 *
 * PyTorch multiplies its float32 scale by a double factor in double and rounds
 * the product to float32; fairseq compares a quotient of two counters with a
 * double. Many GPUs have no binary64. Both are done here with integers, bit for
 * bit; no float is touched, so subnormal scales survive on devices that flush
 * them. Tested against the host's double arithmetic. */
#ifndef KERNELS_AMP_WIDE_H
#define KERNELS_AMP_WIDE_H

#include "kernels/scalar/scalar.h"

/* (float)((double)s * f): s the bits of a float32 >= +0, f > 0 a finite
 * binary64 in two words. A float32 factor that was widened is multiplied as
 * float32 does: its product with s is exact in 53 bits. */
FN u32 wide_times(u32 s, u32 f_hi, u32 f_lo)
{
    if (s == 0u || s >= F32_INF)
        return s;
    u32 m = f32_significand(s);
    u32 h = (f_hi & 0xfffffu) | 0x100000u;
    u32 e = f32_exponent(s) + (f_hi >> 20u) - 1022u;
    u32 carry = u32_mul_high(m, f_lo);
    u32 p0 = m * f_lo;
    u32 p1 = m * h + carry;
    u32 p2 = u32_mul_high(m, h) + (p1 < carry ? 1u : 0u);

    if (p2 < 0x1000u) { /* 76 bits: make them 77 */
        p2 = (p2 << 1u) | (p1 >> 31u);
        p1 = (p1 << 1u) | (p0 >> 31u);
        p0 <<= 1u;
        e -= 1u;
    }
    u32 q1 = (p2 << 8u) | (p1 >> 24u); /* the upper 21 of 53 bits */
    u32 q0 = (p1 << 8u) | (p0 >> 24u);
    u32 rest = p0 & 0xffffffu;

    if (rest > 0x800000u || (rest == 0x800000u && (q0 & 1u) != 0u)) {
        q0 += 1u;
        q1 += q0 == 0u ? 1u : 0u;
    }
    if (q1 == 0x200000u) { /* 2^53: the low word is 0 */
        q1 = 0x100000u;
        e += 1u;
    }
    return f32_round(e, (q1 << 5u) | (q0 >> 27u) |
                            ((q0 & 0x7ffffffu) != 0u ? 1u : 0u));
}

/* (double)a / b < t, for 1 <= b: t in (0, 1] is m * 2^-(shift - 1) with a
 * significand m of 53 bits, and M = 2 m - 1 in two words is the midpoint below
 * it in units of 2^-shift: a lesser quotient rounds to less than t. No a/b of
 * 32-bit integers is that midpoint. M = 0 means t = 0. */
FN bool wide_below(u32 a, u32 b, u32 m_hi, u32 m_lo, u32 shift)
{
    if ((m_hi | m_lo) == 0u || shift > 95u)
        return a == 0u && (m_hi | m_lo) != 0u;
    u32 carry = u32_mul_high(b, m_lo);
    u32 p0 = b * m_lo;
    u32 p1 = b * m_hi + carry;
    u32 p2 = u32_mul_high(b, m_hi) + (p1 < carry ? 1u : 0u);
    u32 k = shift & 31u; /* shift is 53 or more, the quotient below 2^32 */
    u32 top = p2;
    u32 low = p1;
    u32 under = p0;

    if (shift >= 64u) {
        top = 0u;
        low = p2;
        under = p0 | p1;
    }
    u32 quotient = k == 0u ? low : (low >> k) | (top << (32u - k));
    u32 rest = (low & ((1u << k) - 1u)) | under;

    return a < quotient || (a == quotient && rest != 0u);
}

/* 1 / s rounded to float32: PyTorch's (float)(1.0 / (double)s), which is the
 * same since 53 >= 2 * 24 + 2 (Figueroa 1995). */
FN u32 wide_inverse(u32 s)
{
    if (s == 0u)
        return F32_INF;
    if (s >= F32_INF)
        return 0u;
    return div_magnitudes(0x3f800000u, s);
}

#endif
