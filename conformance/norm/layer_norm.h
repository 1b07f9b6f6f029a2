/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.h - the float64 oracle of layer norm and RMS norm, and the cases
 * that forward and backward share. */
#ifndef CONFORMANCE_NORM_LAYER_NORM_H
#define CONFORMANCE_NORM_LAYER_NORM_H

#include "conformance/bounds_rows.h"
#include "conformance/suite.h"

/** One choice of every factor. */
struct norm_entry {
    bool rms;
    int rank, ndim;
    int64_t shape[4];
    ssq_dtype in, out, param, grad; /* of x, y or dy, gamma and beta, dx */
    enum layout layout_in, layout_out, layout_param;
    unsigned data;
    double eps;
    bool gamma, beta;
    int stats; /* forward: 0 no, 1 x's leading sizes, 2 and ones; backward:
                  given when not 0 */
    int place; /* 0 own, 1 over x, 2 over dy (backward) */
    unsigned outputs; /* backward: bits of dx, dgamma, dbeta */
};
struct norm_entry norm_entry_of(size_t i);
void norm_entry_text(const struct norm_entry *e, bool backward, char *text,
                     size_t bytes);
/** x's values differ from 1 case to the next: normal, far from 0, tiny,
 *  constant, NaN and Inf among them. */
void norm_make_x(struct harness *b, const struct norm_entry *e,
                 struct operand *x);
bool norm_finite(const struct norm_entry *e);

struct norm_problem {
    bool rms;
    int64_t rows, n;
    double eps;
    const double *gamma, *beta; /* or NULL */
    const double *mean, *rstd;  /* given statistics, or NULL */
};
struct norm_problem norm_problem_of(const struct norm_entry *e);

/** Statistics of row r. */
struct norm_facts norm_facts_of(const struct norm_problem *p, const double *x,
                                int64_t r);
void norm_forward(const struct norm_problem *p, const double *x, double *y,
                  double *error);
void norm_backward(const struct norm_problem *p, const double *x,
                   const double *dy, double tiny, double *dx, double *error);
/** dgamma and dbeta, each with its errors. */
void norm_backward_sums(const struct norm_problem *p, const double *x,
                        const double *dy, double *dgamma, double *gamma_error,
                        double *dbeta, double *beta_error);

#endif
