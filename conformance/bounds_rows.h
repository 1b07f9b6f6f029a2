/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_rows.h - bounds of softmax, losses and norms: class R of
 * doc/design/numbers.md.
 *
 * u = 2^-24. An exp, log, softplus, sigmoid or rsqrt of kernels/scalar/scalar.h
 * is within one unit in the last place: a relative error of 2u. First-order
 * terms; the 8 of bound_chain is what an op's constant count leaves over for
 * the products of errors. */
#ifndef CONFORMANCE_BOUNDS_ROWS_H
#define CONFORMANCE_BOUNDS_ROWS_H

#include <stdbool.h>

#include "conformance/bounds.h"

/** Dependent additions in a sum of n terms: the promise of
 * lib/op/softmax/softmax.h, blocks of n / 64 terms and then at most 64 of them.
 */
static inline double bound_terms(double n)
{
    return n <= 64.0 ? n : 64.0 + ceil(n / 64.0);
}

/** Two results, such as an exp and a quotient, that may each be off by a
 *  subnormal's spacing; by the least normal where subnormals are flushed. */
static inline double bound_tiny(bool flushed)
{
    return flushed ? 0x1p-125 : 0x1p-148;
}

/** What the float64 oracle knows of a row x[0..n-1]: with t = x - max,
 *  p = softmax. spread = sum p |t|. */
struct softmax_facts {
    double n, max, total, log_total, spread;
};

/* p = exp(t) / total. The difference t is off by u |t|, so that its exp has a
 * relative error of |t| u, and 2u of its own. The total of n of them is off by
 * spread u + 2u from these, and by k u from its additions, k = bound_terms(n).
 * The quotient adds u, and so does the total's rounding. In all
 * (|t| + spread + k + 6) u p. */
static inline double bound_softmax(const struct softmax_facts *f, double p,
                                   double t)
{
    return p == 0.0 ? 0.0
                    : bound_chain(bound_terms(f->n),
                                  p * (1.0 + fabs(t) + f->spread));
}

/* t - log(total). t is off by u |t|. The relative error of the total,
 * (spread + k + 3) u, is an absolute one of its log, which adds 2u |log total|
 * of its own. The difference rounds once more: u (|t| + |log total|). */
static inline double bound_log_softmax(const struct softmax_facts *f, double t)
{
    return bound_chain(bound_terms(f->n),
                       1.0 + fabs(t) + fabs(f->log_total) + f->spread);
}

/* p (g - s), s = sum p g. There are k + 1 roundings in s, and two after it.
 * abs_s is sum |p g|; each of the n products may underflow. */
static inline double bound_softmax_backward(double n, double p, double g,
                                            double abs_s, double tiny)
{
    return bound_chain(bound_terms(n), fabs(p) * (fabs(g) + abs_s)) +
           tiny * (1.0 + n * fabs(p));
}

/* g - exp(y) s, s = sum g. There are k roundings in s, 2u in the exp, and two
 * roundings after them. abs_s is sum |g|. */
static inline double bound_log_softmax_backward(double n, double p, double g,
                                                double abs_s, double tiny)
{
    return bound_chain(bound_terms(n), fabs(g) + p * abs_s) +
           tiny * (1.0 + abs_s);
}

/* The loss of a row, -sum q log p. bound_log_softmax counts k + 6 for log p; q
 * has three products and a sum; then there are their product and k additions:
 * 2 k + 12. m is sum |q| (1 + |t| + |log total| + spread); where the op is
 * given log-probabilities x it is sum |q x|. */
static inline double bound_row_loss(double n, double m)
{
    return bound_chain(2.0 * bound_terms(n) + 4.0, m);
}

/* The sum of the losses of rows, over the sum of their weights:
 * bound_terms(rows) more in each, and a quotient. m = sum of the rows' m over
 * |divisor|. */
static inline double bound_mean_loss(double n, double rows, double m)
{
    return bound_chain(2.0 * (bound_terms(n) + bound_terms(rows)) + 6.0, m);
}

/* (p sum(q) - q) seed / divisor. p counts k + 6 besides its |t| and spread,
 * sum(q) counts k + 5, q counts 5, the divisor bound_terms(rows), and four more
 * operations join them. seed includes the divisor. */
static inline double bound_row_gradient(const struct softmax_facts *f,
                                        double rows, double p, double t,
                                        double q, double sum_q, double seed,
                                        double tiny)
{
    double m = fabs(q);
    if (p != 0.0)
        m += p * (1.0 + fabs(t) + f->spread) * sum_q;
    double n = 2.0 * bound_terms(f->n) + bound_terms(rows) + 7.0;
    return bound_chain(n, m * fabs(seed)) +
           tiny * (1.0 + fabs(seed)) * (1.0 + sum_q);
}

/* Elementwise losses: at most 6 roundings in the value, where m is the formula
 * over absolute values; 9 in the gradient with weight and seed. */
static inline double bound_loss_value(double m, double tiny)
{
    return bound_chain(0.0, m) + tiny * (1.0 + m);
}

static inline double bound_loss_slope(double m, double seed, double tiny)
{
    return bound_chain(2.0, m * fabs(seed)) + tiny * (1.0 + fabs(seed));
}

/* Their sum or mean: k additions and a quotient. m adds up. */
static inline double bound_loss_total(double n, double m, double tiny)
{
    return bound_chain(bound_terms(n) + 2.0, m) + tiny * n;
}

/** Statistics of a row for a norm: x = mean + d, var = avg(d^2). */
struct norm_facts {
    double n, mean, var, rstd;
    double mean_error; /* of the float32 mean, absolute */
    double var_error;  /* of the variance, absolute */
    double rstd_error; /* of the float32 rstd, relative */
};

/* 1 / sqrt(var + eps), where var is off by var_error and never negative: 2u of
 * rsqrt, u of + eps. */
static inline double bound_rstd(const struct norm_facts *f, double eps)
{
    double v = f->var + eps, low = fmax(f->var - f->var_error, 0.0) + eps;
    if (!isfinite(f->var))
        return 0.0; /* rstd is 0 or NaN */
    if (low == 0.0 || !isfinite(f->var_error))
        return (double)INFINITY;
    double up = sqrt(v / low) - 1.0;
    double down = 1.0 - sqrt(v / (v + f->var_error));
    return fmax(up, down) + 4.0 * U_F32 * (1.0 + up);
}

/* The average c of deviations from a mean that is off by `first`, and so the
 * exact c is at most that: k additions, a quotient, and a rounding of each
 * deviation. abs_dev = avg |x - mean|. */
static inline double bound_correction(double k, double abs_dev, double first)
{
    return bound_chain(k, abs_dev + first);
}

/* The squares lose c^2, of which c is off by error; its product and the
 * difference round. */
static inline double bound_corrected(double first, double error)
{
    double c = first + error;
    return error * (2.0 * first + error) + 4.0 * U_F32 * c * c;
}

/* The mean as it is first: k additions, a quotient, a rounding; abs_mean =
 * avg |x|. With e = that error the squares of the deviations from it average
 * to var + e^2 exactly, and their own average is e: both are corrected by it
 * (kernels/norm/deviations.h). The corrected mean rounds once more. An RMS norm
 * has no mean. */
static inline void norm_errors(struct norm_facts *f, double abs_mean,
                               double abs_dev, double eps, bool rms)
{
    double k = bound_terms(f->n), e = rms ? 0.0 : bound_chain(k, abs_mean);
    double c = rms ? 0.0 : bound_correction(k, abs_dev, e);
    f->mean_error = rms ? 0.0 : c + U_F32 * (fabs(f->mean) + c);
    f->var_error = bound_chain(k, f->var + e * e) + bound_corrected(e, c);
    f->rstd_error = bound_rstd(f, eps);
}

/* d rstd gamma + beta: three roundings in the product, one in the sum. */
static inline double bound_normalised(const struct norm_facts *f, double d,
                                      double gamma, double beta)
{
    double r = f->rstd_error, s = f->rstd * fabs(gamma);
    return s * (f->mean_error + fabs(d) * (r + 4.0 * U_F32)) * (1.0 + r) +
           2.0 * U_F32 * (s * fabs(d) + fabs(beta));
}

/** Of the backward op at one element. z_error: of z = (x - mean) rstd, from
 *  statistics that were computed again; 0 for given ones. */
struct norm_slope {
    double z, g, z_error;
    double avg_g, avg_gz; /* averages of |g|, |g z| */
    double avg_g_error;   /* average of |g| z_error */
};

/* rstd (g - avg g - z avg(g z)). An average has k + 1 roundings, z has 2, g has
 * 1, and 5 join them. Statistics that are computed again add rstd_error to the
 * whole, and z_error to z in both places. */
static inline double bound_normalised_backward(const struct norm_facts *f,
                                               const struct norm_slope *e,
                                               bool recomputed, double tiny)
{
    double z = fabs(e->z);
    double m = fabs(e->g) + e->avg_g + z * e->avg_gz;
    double error = bound_chain(bound_terms(f->n) + 2.0, m * f->rstd) +
                   tiny * (1.0 + f->rstd) * (1.0 + f->n) * (1.0 + z);
    if (!recomputed)
        return error;
    double r = f->rstd_error;
    return error + r * f->rstd * m +
           f->rstd * (1.0 + r) *
               (e->z_error * e->avg_gz + (z + e->z_error) * e->avg_g_error);
}

/* Sums over rows of dy z and dy: z has two roundings, the product one. m is
 * the sum of |dy z|, error that of |dy| z_error. */
static inline double bound_normalised_sums(double rows, double m, double error)
{
    return bound_chain(bound_terms(rows), m) + error;
}

#endif
