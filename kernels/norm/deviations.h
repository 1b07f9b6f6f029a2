/* SPDX-License-Identifier: Apache-2.0 */
/* deviations.h - the mean and the squares of numbers, from sums of their
 * deviations d = x - m, in the dialect.
 *
 * m is the mean as it was found first: off by what a sum of large numbers
 * loses. The average c of the n deviations is that error, and deviations are
 * small where m is nearly right:
 *
 *     mean = m + c    sum (x - mean)^2 = sum d^2 - c sum d
 *
 * [Chan, Golub, LeVeque 1983, the corrected two-pass algorithm]. Both sums come
 * from the pass that makes the squares in any case. */
#ifndef KERNELS_NORM_DEVIATIONS_H
#define KERNELS_NORM_DEVIATIONS_H

#include "kernels/scalar/scalar.h"

/* The mean. m stays as it is where it, or the sum, is not finite. */
FN float deviations_mean(float m, float c)
{
    EXACT float corrected = m + c;

    return is_finite_bits(AS_U32(corrected)) ? corrected : m;
}

/* The part that rounding removed from the mean m + c: it is mean + rest, to
 * twice the bits [Dekker 1971, Fast2Sum]. 0 where c is not finite. */
FN float deviations_rest(float m, float c, float mean)
{
    EXACT float moved = mean - m;
    EXACT float rest = c - moved;

    return is_finite_bits(AS_U32(rest)) ? rest : 0.0f;
}

/* The sum of squares about the mean, from those about m and the sum of all d.
 * Rounding makes none of them negative. A sum that is not finite stays so. */
FN float deviations_squares(float squares, float sum, float c)
{
    EXACT float t = c * sum;

    if (!is_finite_bits(AS_U32(squares)))
        return squares;
    t = squares - t;
    return t > 0.0f ? t : 0.0f;
}

#endif
