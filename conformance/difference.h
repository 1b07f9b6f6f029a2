/* SPDX-License-Identifier: Apache-2.0 */
/* difference.h - does a float64 gradient belong to a float64 function? Central
 * differences, with a bound from the function's third derivative. */
#ifndef CONFORMANCE_DIFFERENCE_H
#define CONFORMANCE_DIFFERENCE_H

#include "conformance/suite.h"

/** A scalar function of n variables: sum of dy * forward(x). */
typedef double (*scalar_fn)(const void *data, const double *x);

/** The slope of f along x[i] is gradient[i], for every i of n.
 *  @param step   of the difference
 *  @param third  bound of |f'''| along any one variable within a step
 *  @param size   sum of the absolute values of the terms of f, and of
 *                intermediate values: its float64 rounding is below
 *                2^-42 size (thousands of operations)
 *  |difference - slope| <= step^2 / 6 third + 2^-42 size / step. */
bool difference_check(struct harness *b, scalar_fn f, const void *data,
                      double *x, size_t n, const double *gradient, double step,
                      double third, double size);

#endif
