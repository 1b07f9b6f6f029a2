/* SPDX-License-Identifier: Apache-2.0 */
/* exp_neg.h - exp(x) for x <= 0 in few operations: for class R only. */

#ifndef SSQ_KERNELS_SCALAR_EXP_NEG_H
#define SSQ_KERNELS_SCALAR_EXP_NEG_H

#include "kernels/scalar/exp.h"

/* a b + c, fused where that is one instruction: OpenCL says so by the first
 * name, but PoCL does not, only its compiler's x86 by the second. */
#ifndef EXP_FMA
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__CUDACC__) ||        \
    defined(__CUDACC_RTC__) || defined(__CUDA__)
#define EXP_FMA(a, b, c) FMA(a, b, c)
#else
#define EXP_FMA(a, b, c) MAD(a, b, c)
#endif
#endif

/* 1.5 * 2^23 + 191: a sum with it ends in the bits of n + 127 + 64. */
#define EXP_NEG_MAGIC 12583103.0f

/* exp(x), x <= 0, NaN or -inf; a relative error below 2u, u = 2^-24, fused or
 * not, and half the least subnormal more where the result is one. Not the bits
 * of s_exp, nor those of another device.
 *
 * x = n log(2) + r, |r| < 0.3466: n has 8 bits, so n LN2_H is exact, and so is
 * x - n LN2_H (Cody and Waite, 1980); n LN2_L and r round by 2^-26 at most:
 * u / 4. Of exp(r) = 1 + r (1 + r q) the polynomial is off by 2^-28.2, u / 19
 * (tests/scalar/polynomials.py). Unfused, for r < 0 the inner sum and product
 * round by 0.17u + 0.06u, the outer product by u / 4, the last sum by u / 2, of
 * a result that is at least 0.707: 1.7u in all; for r > 0 it is 1.5u. Fused is
 * less. Of every 97th x tests/scalar/exp_neg_test.c finds 1.64u and 1.21u.
 *
 * 2^(n + 64) is normal for all x >= -104, and times 2^-64 underflows, rounded
 * once, as it should. exp(-104) < 2^-150 is 0, as are all below. */
FN_INLINE float s_exp_neg(float x)
{
#ifdef VULKAN /* where a comparison may take NaN for a number */
    if (s_is_nan(x))
        return x;
#endif
    EXACT float t = x < -104.0f ? -104.0f : x;
    EXACT float k = EXP_FMA(t, 1.442695f, EXP_NEG_MAGIC);
    EXACT float power = AS_F32(AS_U32(k) << 23u);

    k = k - EXP_NEG_MAGIC;
    EXACT float r = EXP_FMA(k, -LN2_H, t);
    r = EXP_FMA(k, -LN2_L, r);
    EXACT float p = EXP_FMA(r, 0.0013935758f, 0.008369089f);
    p = EXP_FMA(p, r, 0.041666456f);
    p = EXP_FMA(p, r, 0.16666517f);
    p = EXP_FMA(p, r, 0.5f);
    p = EXP_FMA(p, r, 1.0f);
    p = EXP_FMA(p, r, 1.0f);
    return (p * power) * 5.4210109e-20f;
}

#endif
