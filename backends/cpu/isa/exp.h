/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp of a vector, by the scalar text's arithmetic. */
#ifndef BACKENDS_CPU_ISA_EXP_H
#define BACKENDS_CPU_ISA_EXP_H

#include "backends/cpu/isa/vector.h"
#include "kernels/scalar/exp_neg.h"

/* b where it is greater than a, else a: a NaN of a stays, one of b is passed
 * over. */
INLINE floats floats_most(floats a, floats b)
{
#if LANES == 16
    return _mm512_max_ps(b, a);
#elif LANES == 8
    return _mm256_max_ps(b, a);
#else
    words greater = (words)(b > a);
    return (floats)((greater & (words)b) | (~greater & (words)a));
#endif
}

/* p 2^n, where k is n + EXP_NEG_MAGIC. */
INLINE floats exp_scaled(floats p, floats k)
{
#if LANES == 16
    return _mm512_scalef_ps(p, k - floats_splat(EXP_NEG_MAGIC));
#else
    return p * (floats)((words)k << 23) * floats_splat(5.4210109e-20f);
#endif
}

/* The bits of s_exp_neg, whose arithmetic is right up to EXP_MOST. */
#define EXP_MOST 40.0f
INLINE floats floats_exp_neg(floats x)
{
    const floats one = floats_splat(1.0f);
    floats t = floats_most(x, floats_splat(-104.0f));
    floats k =
        floats_fma(t, floats_splat(1.442695f), floats_splat(EXP_NEG_MAGIC));
    floats n = k - floats_splat(EXP_NEG_MAGIC);
    floats r = floats_fma(n, floats_splat(-LN2_H), t);
    r = floats_fma(n, floats_splat(-LN2_L), r);
    floats p =
        floats_fma(r, floats_splat(0.0013935758f), floats_splat(0.008369089f));
    p = floats_fma(p, r, floats_splat(0.041666456f));
    p = floats_fma(p, r, floats_splat(0.16666517f));
    p = floats_fma(p, r, floats_splat(0.5f));
    p = floats_fma(p, r, one);
    p = floats_fma(p, r, one);
    return exp_scaled(p, k);
}

#endif
