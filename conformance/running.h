/* SPDX-License-Identifier: Apache-2.0 */
/* running.h - running error analysis: numbers with a bound on their error.
 *
 * Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.3. A
 * `num` is a value in float64 and a bound on how far float32 arithmetic that
 * does the same operations can be from it: the effect of the operands' errors
 * on the result, plus one rounding of the result. Derived from the formula
 * alone, so right for any data, however badly conditioned. The float64
 * roundings of the values themselves are covered by a slightly larger unit. */
#ifndef CONFORMANCE_RUNNING_H
#define CONFORMANCE_RUNNING_H

#include "conformance/bounds.h"

/* 2^-24, and room for the oracle's own 2^-53 per operation */
#define RUNNING_U (U_F32 * (1.0 + 0x1p-20))

/** A value, and the largest distance from it that float32 may come to. */
struct num {
    double v, e;
};

/** Known exactly in float32. */
static inline struct num num_exact(double v)
{
    return (struct num){v, 0.0};
}

/** A float32 rounding of v, which is known to within e before it. */
static inline struct num num_round(double v, double e)
{
    if (v == 0.0 && e == 0.0)
        return num_exact(0.0);
    return (struct num){v, e + RUNNING_U * (fabs(v) + e) + bound_eta(SSQ_F32)};
}

/** A double constant that is rounded to float32. */
static inline struct num num_const(double v)
{
    return num_round(v, 0.0);
}

static inline struct num num_add(struct num a, struct num b)
{
    return num_round(a.v + b.v, a.e + b.e);
}

static inline struct num num_sub(struct num a, struct num b)
{
    return num_round(a.v - b.v, a.e + b.e);
}

static inline struct num num_mul(struct num a, struct num b)
{
    return num_round(a.v * b.v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e);
}

static inline struct num num_div(struct num a, struct num b)
{
    /* a divisor that may be 0 bounds nothing */
    double q = a.v / b.v, least = fabs(b.v) - b.e;
    if (a.v == 0.0 && a.e == 0.0)
        return num_exact(0.0);
    if (!(least > 0.0))
        return (struct num){q, (double)INFINITY};
    return num_round(q, (a.e + fabs(q) * b.e) / least);
}

/** The root is steepest downwards, so both ends of the interval are tried. */
static inline struct num num_sqrt(struct num a)
{
    double s = sqrt(a.v), low = sqrt(fmax(a.v - a.e, 0.0));
    return num_round(s, fmax(s - low, sqrt(a.v + a.e) - s));
}

/** No rounding: one of the two. */
static inline struct num num_max(struct num a, struct num b)
{
    return (struct num){fmax(a.v, b.v), fmax(a.e, b.e)};
}

static inline struct num num_min(struct num a, struct num b)
{
    return (struct num){fmin(a.v, b.v), fmax(a.e, b.e)};
}

static inline struct num num_neg(struct num a)
{
    return (struct num){-a.v, a.e};
}

#endif
