/* SPDX-License-Identifier: Apache-2.0 */
/* golden.h - problems whose results golden.py got from torch. */
#ifndef CONFORMANCE_GOLDEN_H
#define CONFORMANCE_GOLDEN_H

#include "conformance/case.h"

/** The inputs: element i is ((i a + 3) mod 17 - 8) / 16. */
static inline double *golden_fill(struct harness *b, int a, int64_t n)
{
    double *v = harness_alloc(b, (size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++)
        v[i] = ((double)((i * a + 3) % 17) - 8.0) / 16.0;
    return v;
}

/** A dense float32 input of them. */
static inline void golden_input(struct harness *b, struct operand *x, int a,
                                int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    harness_values(b, x, SSQ_F32, rank, shape, LAYOUT_DENSE,
                   golden_fill(b, a, n));
}

/** A computed float64 number against torch's, which may sum in another
 *  order: both lose less than 2^-40 of values near 1. */
static inline bool golden_agrees(struct harness *b, const char *what,
                                 const double *have, const double *want,
                                 int64_t n)
{
    for (int64_t i = 0; i < n && !harness_over(b); i++)
        if (!(have[i] - want[i] <= 0x1p-40 && want[i] - have[i] <= 0x1p-40))
            return harness_fail(b,
                                "%s %lld of the oracle is %.17g, torch's %.17g",
                                what, (long long)i, have[i], want[i]);
    return !b->failed;
}

#endif
