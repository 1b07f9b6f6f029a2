/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_core.h - sums of products as tensor cores make them.
 *
 * A block of products and the sum before it are put under the greatest
 * exponent, cut off below 25 bits, added exactly, and cut off to float32. The
 * stand-ins of cuBLASLt and of mma.sync share it. */
#ifndef TESTS_FAKECUDA_TENSOR_CORE_H
#define TESTS_FAKECUDA_TENSOR_CORE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TENSOR_BLOCK 16 /* products of the largest block */

/* Toward 0, except if it is too large. */
static inline float tensor_cut(double x)
{
    float f = (float)x;

    if (fabs(x) >= 0x1p128)
        return x < 0 ? -INFINITY : INFINITY;
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0.0f) : f;
}

/* The sum and n products, as the units add them in one step. Products of 16-bit
 * factors are exact in float64, and normal. */
static inline float tensor_add(float sum, const float *a, const float *b,
                               unsigned n)
{
    double term[TENSOR_BLOCK + 1], most = fabs((double)sum), all = most, unit;
    int64_t total = 0;
    uint64_t bits;

    term[0] = (double)sum;
    for (unsigned i = 0; i < n; i++) {
        term[i + 1] = (double)a[i] * (double)b[i];
        if (fabs(term[i + 1]) > most)
            most = fabs(term[i + 1]);
        all += fabs(term[i + 1]);
    }
    if (!isfinite(all)) {
        for (unsigned i = 0; i < n; i++)
            sum += a[i] * b[i];
        return sum;
    }
    if (most == 0.0)
        return sum;
    /* 2 to the 24 less the exponent of the greatest, as float64's bits */
    memcpy(&bits, &most, sizeof(bits));
    bits = (UINT64_C(2046) + 24 - (bits >> 52)) << 52;
    memcpy(&unit, &bits, sizeof(unit));
    for (unsigned i = 0; i <= n; i++)
        total += (int64_t)(term[i] * unit);
    return tensor_cut((double)total / unit);
}

#endif
