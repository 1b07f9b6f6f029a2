/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - Philox4x32-10 and the distributions made from one word.
 *
 * Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011. A counter generator: the word of element i of tensor t in step s
 * does not depend on the launch. */

#ifndef SSQ_KERNELS_SCALAR_RANDOM_H
#define SSQ_KERNELS_SCALAR_RANDOM_H

#include "kernels/scalar/log.h"

#define PHILOX_ROUND(c0, c1, c2, c3, k0, k1, N)                                \
    {                                                                          \
        u32 ph_h0 = u32_mul_high(0xd2511f53u, c0);                             \
        u32 ph_l0 = 0xd2511f53u * (c0);                                        \
        u32 ph_h1 = u32_mul_high(0xcd9e8d57u, c2);                             \
        u32 ph_l1 = 0xcd9e8d57u * (c2);                                        \
        c0 = ph_h1 ^ (c1) ^ ((k0) + (N)*0x9e3779b9u);                          \
        c1 = ph_l1;                                                            \
        c2 = ph_h0 ^ (c3) ^ ((k1) + (N)*0xbb67ae85u);                          \
        c3 = ph_l0;                                                            \
    }

/* Ten rounds in place on the counter; the key is kept. No loop, so that a loop
 * over counters is an innermost one and can become vector instructions. */
#define PHILOX(c0, c1, c2, c3, k0, k1)                                         \
    {                                                                          \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 0u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 1u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 2u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 3u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 4u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 5u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 6u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 7u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 8u)                               \
        PHILOX_ROUND(c0, c1, c2, c3, k0, k1, 9u)                               \
    }

/* The random word of one element: word index & 3 of block index >> 2. */
FN u32 random_u32(u32 k0, u32 k1, u32 step, u32 tensor, u32 index_lo,
                  u32 index_hi)
{
    u32 c0 = (index_lo >> 2u) | (index_hi << 30u);
    u32 c1 = index_hi >> 2u;
    u32 c2 = tensor;
    u32 c3 = step;
    u32 word = index_lo & 3u;

    PHILOX(c0, c1, c2, c3, k0, k1)
    if (word == 0u)
        return c0;
    if (word == 1u)
        return c1;
    return word == 2u ? c2 : c3;
}

/* One of the 2^24 multiples of 2^-24 in [0, 1). */
FN float random_uniform(u32 r)
{
    return F32(r >> 8u) * 5.9604645e-8f;
}

/* How many standard deviations leave p on one side: q = q_hi + q_lo = 1/2 - p
 * times a polynomial in w = -log(4 p (1 - p)), as Giles does it (GPU Computing
 * Gems, Jade edition, 2012, ch. 10), fitted down to p = 2^-33. q is two floats:
 * for a struct Intel's compiler makes a third more code. */
FN float normal_quantile(float p, float q_hi, float q_lo)
{
    EXACT float x = 4.0f * p * (1.0f - p);
    EXACT float w = s_neg(s_log(x));
    EXACT float y;
    EXACT float first; /* the constant term, as a pair */
    EXACT float rest;

    if (w < 5.0f) {
        w = w - 2.5f;
        y = 1.2299052e-9f;
        y = y * w - 2.4944278e-8f;
        y = y * w + 4.6645297e-8f;
        y = y * w + 1.3198561e-6f;
        y = y * w - 9.690759e-6f;
        y = y * w - 1.4046319e-5f;
        y = y * w + 0.00061734376f;
        y = y * w - 0.00354327f;
        y = y * w - 0.011815259f;
        y = y * w + 0.69760406f;
        first = 4.246627f;
        rest = 8.183265e-8f;
    } else {
        w = s_sqrt(w) - 3.375f;
        y = 1.5352001e-5f;
        y = y * w - 7.259045e-5f;
        y = y * w + 8.8664834e-5f;
        y = y * w + 0.0001771446f;
        y = y * w - 0.0008743414f;
        y = y * w + 0.0018942741f;
        y = y * w - 0.0030662345f;
        y = y * w + 0.004620115f;
        y = y * w - 0.007735553f;
        y = y * w + 0.01179f;
        y = y * w + 2.8466518f;
        first = 9.0781765f;
        rest = 1.3489391e-7f;
    }
    EXACT STRUCT(float_pair) product = two_prod(y, w);
    EXACT STRUCT(float_pair) sum = fast_two_sum(first, product.hi);

    sum.lo = sum.lo + (product.lo + rest);
    return pair_sum(pair_mul(pair_of(q_hi, q_lo), sum));
}

/* u * 2^-33 exactly. */
FN STRUCT(float_pair) random_pair(u32 u)
{
    EXACT float a = F32(u >> 16u) * 7.6293945e-6f;      /* 2^-17 */
    EXACT float b = F32(u & 0xffffu) * 1.1641532e-10f; /* 2^-33 */

    return fast_two_sum(a, b);
}

/* Normal, mean 0, deviation 1: the quantile of (r + 1/2) / 2^32, so odd about
 * 0 and 6.34 at most. */
FN float random_normal(u32 r)
{
    u32 v = r < 0x80000000u ? r : ~r;
    EXACT float p = u32_to_float(v + v + 1u) * 1.1641532e-10f; /* 2^-33 */
    EXACT STRUCT(float_pair) q = random_pair(~(v + v));
    EXACT float y = normal_quantile(p, q.hi, q.lo);

    return r < 0x80000000u ? s_neg(y) : y;
}

/* The same normal, its values beyond +-2 left out. */
FN float random_truncated_normal(u32 r)
{
    u32 v = r < 0x80000000u ? r : ~r;
    EXACT float p = u32_to_float(v + v + 1u) * 1.1641532e-10f;
    EXACT STRUCT(float_pair) q =
        pair_mul(random_pair(~(v + v)), pair_of(0.9544997f, 1.4576542e-8f));

    p = 0.022750132f + 0.9544997f * p; /* erfc(sqrt(2)) / 2, erf(sqrt(2)) */
    EXACT float y = normal_quantile(p, q.hi, q.lo);

    y = y > 2.0f ? 2.0f : y;
    return r < 0x80000000u ? s_neg(y) : y;
}

#endif
