/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_channel.h - what batch norm adds to the bounds of norms in
 * bounds_rows.h: running statistics, and statistics that are given. */
#ifndef TESTS_BOUNDS_CHANNEL_H
#define TESTS_BOUNDS_CHANNEL_H

#include "tests/bounds_rows.h"

/** Statistics as given: only eps is added to var, and the root taken: u / 2
 *  and 2u of rsqrt. */
static inline void norm_errors_given(struct norm_facts *f)
{
    f->mean_error = 0.0;
    f->rstd_error = 4.0 * U_F32;
}

/** The variance over n - 1: the sum of squares as in norm_errors, whose terms
 *  are off by u |d| and e = mean_error; the divisor and the quotient are in the
 *  8 of bound_chain. */
static inline double bound_unbiased(const struct norm_facts *f)
{
    double e = f->mean_error, n = f->n / (f->n - 1.0);
    return n * (bound_chain(bound_terms(f->n), f->var) + e * e +
                8.0 * U_F32 * e * sqrt(f->var));
}

/** keep running + momentum x: two products and a sum, each rounded; x is known
 *  to within error. The products may be subnormal. */
static inline double bound_running(double kept, double momentum, double x,
                                   double error)
{
    double moved = momentum * error;
    return moved + 3.0 * U_F32 * (fabs(kept) + fabs(momentum * x) + moved) +
           0x1p-148;
}

/** rstd (dy gamma): z does not occur. Two products; rstd_error is that of
 *  statistics told again. */
static inline double bound_given_backward(const struct norm_facts *f, double dx,
                                          double tiny)
{
    return bound_chain(0.0, fabs(dx)) + f->rstd_error * fabs(dx) +
           tiny * (1.0 + f->rstd);
}

#endif
