/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h - every error bound the tests use, derived from DESIGN 6.
 *
 * All in float64, from the unit roundoffs and the length of the longest chain
 * of dependent roundings; never measured, never tuned. Sources: Higham,
 * Accuracy and Stability of Numerical Algorithms, ch. 3 and 4; Blanchard,
 * Higham, Lopez, Mary, Pranesh, SISC 42(3), 2020. */
#ifndef TESTS_BOUNDS_H
#define TESTS_BOUNDS_H

#include <math.h>

#include <sesqui/dtype.h>

#define U_F32 0x1p-24

/** Unit roundoff of a float dtype; 0 for integers (their results are exact). */
static inline double bound_u(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 0x1p-11;
    case SSQ_BF16:
        return 0x1p-8;
    case SSQ_F32:
        return U_F32;
    default:
        return 0.0;
    }
}

/** Half the spacing of the subnormals of a float dtype. */
static inline double bound_eta(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 0x1p-25;
    case SSQ_BF16:
        return 0x1p-134;
    case SSQ_F32:
        return 0x1p-150;
    default:
        return 0.0;
    }
}

/** The least magnitude that rounds to infinity; INFINITY for integers. */
static inline double bound_overflow(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 65520.0;
    case SSQ_BF16:
        return 0x1.FFp127;
    case SSQ_F32:
        return 0x1.FFFFFFp127;
    default:
        return (double)INFINITY;
    }
}

/** gamma_n(u) = n u / (1 - n u); valid for n u < 1/2. */
static inline double bound_gamma(double n, double u)
{
    return n * u / (1.0 - n * u);
}

/** |rounded - exact| for a value known to within error before it is stored. */
static inline double bound_store(double want, double error, ssq_dtype d)
{
    return error + bound_u(d) * (fabs(want) + error) + bound_eta(d);
}

/** Class R but GEMM: a chain of n dependent float32 operations whose terms
 *  have absolute values adding up to m. */
static inline double bound_chain(double n, double m)
{
    return (n + 8.0) * U_F32 * m;
}

#endif
