/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_channel.h - what batch norm adds to the bounds of norms in
 * bounds_rows.h: running statistics, and statistics that are given. */
#ifndef CONFORMANCE_BOUNDS_CHANNEL_H
#define CONFORMANCE_BOUNDS_CHANNEL_H

#include "conformance/bounds_rows.h"

/** Statistics as given: only eps is added to var, and the root taken: u / 2
 *  and 2u of rsqrt. */
static inline void norm_errors_given(struct norm_facts *f)
{
    f->mean_error = 0.0;
    f->var_error = 0.0;
    f->rstd_error = 4.0 * U_F32;
}

/** The variance over n - 1: the sum of squares as in norm_errors; the divisor
 *  and the quotient are in the 8 of bound_chain. */
static inline double bound_unbiased(const struct norm_facts *f)
{
    return f->n / (f->n - 1.0) * f->var_error;
}

/** The code that joins the statistics of ranks (kernels/norm/channel_merge.h):
 * the elements of the rank with the most of them, the ranks, the variance of
 * the ranks' means about that of all; and the largest of the ranks' avg |x|,
 * avg |x - mean| about their own means, and |mean|. */
struct rank_facts {
    double most, ranks, between;
    double abs_x, abs_dev, abs_mean;
};

/* Rank r finds its statistics as in norm_errors, with a first mean that is off
 * by at most `first`. m_r is two floats, so that its own rounding is only in
 * the first mean of all: it is off by e_r, at most own, and v_r by what the
 * first and the last two terms below say. The ranks' means vary by `between`;
 * as they were found, by at most `more` more: with D_r = m_r - m, whose mean is
 * 0, D_r^2 is off by 2 D_r e_r + e_r^2, of which the mean is at most 2 own
 * sqrt(between) + own^2. Their first mean is off by `all`: the chain over
 * ranks, a product, a quotient. It and the squares about it are corrected like
 * a rank's, by deviations that average to sqrt(between + more) at most.
 * Seven roundings more join the squares: two of D_r, its square, the sum, the
 * product, the quotient, and one of eps'. */
static inline void norm_errors_ranks(struct norm_facts *f,
                                     const struct rank_facts *r, double eps)
{
    double k = bound_terms(r->most), over = bound_terms(r->ranks);
    double first = bound_chain(k, r->abs_x);
    double c = bound_correction(k, r->abs_dev, first);
    double own = c + 2.0 * U_F32 * c;
    double more = own * own + 2.0 * own * sqrt(r->between);
    double all =
        bound_chain(over + 2.0, r->abs_mean + own) + U_F32 * r->abs_mean;
    double d = bound_correction(over + 3.0, sqrt(r->between + more), all);
    f->mean_error = own + d + U_F32 * (fabs(f->mean) + own + d);
    f->var_error =
        bound_chain(k + over + 7.0, f->var + more + first * first + all * all) +
        more + bound_corrected(all, d) + bound_corrected(first, c);
    f->rstd_error = bound_rstd(f, eps);
}

/** Over ranks the averages of a gradient have more additions, the ones of
 *  numbers.md 12, and a product with gamma. m: |g| + avg|g| + |z| avg|g z|. */
static inline double bound_ranks_backward(const struct norm_facts *f,
                                          const struct rank_facts *r, double m)
{
    return (ceil(log2(r->ranks)) + 2.0) * U_F32 * m * f->rstd;
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
