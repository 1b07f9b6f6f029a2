/* SPDX-License-Identifier: Apache-2.0 */
/* difference.c - float64 gradients against central differences. */
#include "conformance/difference.h"

#include <math.h>

bool difference_check(struct harness *b, scalar_fn f, const void *data,
                      double *x, size_t n, const double *gradient, double step,
                      double third, double size)
{
    double allowed = step * step / 6.0 * third + 0x1p-42 * size / step;
    for (size_t i = 0; i < n && !b->failed; i++) {
        double old = x[i];
        x[i] = old + step;
        double above = f(data, x), width = x[i];
        x[i] = old - step;
        double below = f(data, x);
        width -= x[i];
        x[i] = old;
        double slope = (above - below) / width;
        if (!(fabs(slope - gradient[i]) <= allowed))
            return harness_fail(
                b,
                "the oracle's gradient %zu of %zu is %.12g, the "
                "difference %.12g, allowed %.3g",
                i, n, gradient[i], slope, allowed);
    }
    return !b->failed;
}
