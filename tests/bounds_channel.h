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

/** What joins the statistics of ranks (kernels/norm/channel_merge.h): the
 *  elements of the rank with the most of them, the ranks, and the variance of
 *  the ranks' means about that of all. */
struct rank_facts {
    double most, ranks, between;
    double var_error; /* found by norm_errors_ranks: of the variance */
};

/* Rank r's mean m_r is off by e_r, at most own; the mean of all by e: as many
 * additions as the longest chain of a rank and the chain over ranks, with a
 * product and a quotient. A rank's squares gain e_r^2 by it. With D_r = m_r -
 * m, whose mean is 0, (m_r - m)^2 is off by 2 D_r (e_r - e) + (e_r - e)^2, of
 * which the mean is at most 2 own sqrt(between) + (own + e)^2. Six roundings
 * more join them: of D_r, its square, the sum, the product, the quotient, and
 * one of eps'.
 */
static inline void norm_errors_ranks(struct norm_facts *f, struct rank_facts *r,
                                     double abs_mean, double abs_most,
                                     double eps)
{
    double k = bound_terms(r->most), over = bound_terms(r->ranks);
    double own = bound_chain(k, abs_most);
    double e = bound_chain(k + over + 2.0, abs_mean);
    double more =
        own * own + 2.0 * own * sqrt(r->between) + (own + e) * (own + e);
    r->var_error = bound_chain(k + over + 6.0, f->var + more) + more +
                   8.0 * U_F32 * (own + e) * sqrt(f->var);
    double rho = r->var_error / (f->var + eps);
    f->mean_error = e;
    f->rstd_error = rho < 0.5 ? 1.0 / sqrt(1.0 - rho) - 1.0 + 4.0 * U_F32
                              : (double)INFINITY;
}

/** Over ranks the averages of a gradient have additions more, those of
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
