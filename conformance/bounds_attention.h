/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_attention.h - bounds of attention and rotary positions:
 * doc/design/numbers.md.
 *
 * u = 2^-24, c the dtype of q. An exp, sin or cos of kernels/scalar/scalar.h is
 * within one unit in the last place: a relative error of 2u. */
#ifndef CONFORMANCE_BOUNDS_ATTENTION_H
#define CONFORMANCE_BOUNDS_ATTENTION_H

#include <stdbool.h>

#include "conformance/bounds.h"

/** The error of one float32 product or quotient by underflow. */
static inline double bound_attention_eta(bool flushed)
{
    return flushed ? 0x1p-126 : 0x1p-149;
}

/* scale (q k) + mask: a GEMM of length d, scale's and mask's roundings, and 6
 * more for code that multiplies by log2(e) first. size: |scale| sum |q k| +
 * |mask|; each product may underflow. */
static inline double bound_attention_score(double d, double size, double scale,
                                           double eta)
{
    return bound_chain(d, size) + (d * fabs(scale) + 2.0) * eta;
}

/* cap tanh(s / cap) + mask, where s is off by error. tanh has no slope above 1.
 * The quotient's rounding, u |x|, moves it by at most max(x / cosh(x)^2) u,
 * which is less than u / 2; it adds another 2u, the product u, and the sum
 * u. No two values are further apart than 2 cap. */
static inline double bound_attention_capped(double error, double cap,
                                            double mask, double eta)
{
    double e = fmin(error + 4.0 * U_F32 * cap, 2.0 * cap);
    return e + 2.0 * U_F32 * (cap + fabs(mask)) + (2.0 + cap) * eta;
}

/* dS times 1 - tanh(x)^2, x = s / cap, where s is off by error. That factor
 * changes by at most 0.77 error / cap, and never by more than 1. x's rounding
 * adds 0.5 u, and its own arithmetic 8u (at most 4 roundings of two sigmoids
 * and of their product). */
static inline double bound_attention_capped_slope(double ds, double ds_error,
                                                  double slope, double error,
                                                  double cap, double eta)
{
    double e = fmin(0.77 * error / cap + 10.0 * U_F32, 1.0);
    return ds_error * fmin(slope + e, 1.0) + fabs(ds) * e +
           2.0 * U_F32 * (fabs(ds) + ds_error) + eta;
}

/* exp of t = s - m or s - lse, seen as an error of the exponent: the score's,
 * u |t| of the difference (t itself is off by little against 2 |t|), 2u of
 * exp, and one more for the square of that. */
static inline double bound_attention_exponent(double score_error, double t)
{
    return score_error + 2.0 * U_F32 * fabs(t) + 4.0 * U_F32;
}

/* Relative error of total = sum(exp(s - m)), and of the quotient and the
 * dropout factor after it. A sum in any order has n roundings. An
 * implementation may go over blocks of at least 4 keys, and rescale its sums
 * by exp(m - m') between them, with 4u each: n more. total is at least 1, and
 * each term may underflow. */
static inline double bound_attention_total(double n, double eta)
{
    return bound_chain(2.0 * n, 1.0) + n * eta;
}

/* m + log(total): log adds 2u, the sum rounds once. moved: how far
 * the scores' errors alone can move the exact value. */
static inline double bound_attention_lse(double moved, double total_error,
                                         double lse, double log_total)
{
    return moved + total_error + 4.0 * U_F32 * (fabs(lse) + fabs(log_total));
}

/* Above this |lse| the backward pass finds what lse has lost: rest = (m - lse)
 * + log(total), no more than the range that rounding has. */
#define ATTENTION_LARGE_LSE 64.0
static inline double attention_rest_range(double lse)
{
    return fabs(lse) * 0x1p-23;
}

/* That rest: three roundings and the 2u of log, as in an lse. It stays within
 * its range for any errors, and the exact one does. */
static inline double bound_attention_rest(double moved, double total_error,
                                          double difference, double log_total,
                                          double lse)
{
    double error = moved + total_error +
                   4.0 * U_F32 * (fabs(difference) + fabs(log_total));
    return fmin(error, 2.0 * attention_rest_range(lse));
}

/* The sum of all P of a query, whose scores forward and backward are the same
 * bits: that of exp((s - lse) - rest), where rest represents log(total) with
 * 4u (|rest| + log(n)) and the error of total. Both differences round, 2u |t|,
 * of which the mean by P is at most log(n), and so does the exponent's sum with
 * rest; exp has 2u. P is rounded to c. */
static inline double bound_attention_whole(double n, double rest, ssq_dtype c,
                                           double eta)
{
    double exponent = U_F32 * (6.0 * fabs(rest) + 6.0 * log(n) + 8.0);
    double sum = bound_attention_total(n, eta) + exponent;
    return sum + (bound_u(c) + (c == SSQ_F32 ? 0.0 : U_F32)) * (1.0 + sum) +
           n * bound_eta(c);
}

/* A value x that is off by error, rounded to c: P or dS. */
static inline double bound_attention_round(double x, double error, ssq_dtype c)
{
    return error + bound_u(c) * (fabs(x) + error) + bound_eta(c);
}

/* Sum of n products of a weight, off by its error, and a number:
 * weighted = sum error |number|, size = sum (|weight| + error) |number|. Twice
 * n for rescaling, as above. */
static inline double bound_attention_sum(double n, double weighted, double size,
                                         double eta)
{
    return weighted + bound_chain(2.0 * n, size) + (n + 1.0) * eta;
}

/* dS = P (f dp - delta) before it is rounded to c. dp and delta are sums over
 * dv, of absolute values size_dp and size_delta; the difference rounds, and so
 * does the product with P, off by p_error. */
static inline double bound_attention_slope(double dv, double p, double p_error,
                                           double g, double size_dp,
                                           double size_delta, double eta)
{
    double g_error = bound_chain(dv, size_dp + size_delta) + 2.0 * dv * eta;
    double size = fabs(g) + g_error;
    return p_error * size + p * g_error + 2.0 * U_F32 * (p + p_error) * size +
           eta;
}

/* a cos - b sin: 2u in cos and sin, u in each product, u in the sum, and the
 * second-order rest; sin, or a product, may be subnormal. */
static inline double bound_rotary(double a, double b, double c, double s)
{
    return 5.0 * U_F32 * (fabs(a * c) + fabs(b * s)) +
           0x1p-148 * (1.0 + fabs(a) + fabs(b));
}

#endif
