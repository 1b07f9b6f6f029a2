/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_oracle.c - layer norm and RMS norm in float64. */
#include "conformance/norm/layer_norm.h"

#include <stdlib.h>

static double gamma_at(const struct norm_problem *p, int64_t k)
{
    return p->gamma == NULL ? 1.0 : p->gamma[k];
}

struct norm_facts norm_facts_of(const struct norm_problem *p, const double *x,
                                int64_t r)
{
    struct norm_facts f = {.n = (double)p->n};
    const double *row = x + r * p->n;
    double abs_mean = 0.0, abs_dev = 0.0;
    if (p->rstd != NULL) {
        f.mean = p->rms ? 0.0 : p->mean[r];
        f.rstd = p->rstd[r];
        return f;
    }
    for (int64_t k = 0; k < p->n; k++) {
        f.mean += p->rms ? 0.0 : row[k] / f.n;
        abs_mean += fabs(row[k]) / f.n;
    }
    for (int64_t k = 0; k < p->n; k++) {
        f.var += (row[k] - f.mean) * (row[k] - f.mean) / f.n;
        abs_dev += fabs(row[k] - f.mean) / f.n;
    }
    f.rstd = 1.0 / sqrt(f.var + p->eps);
    norm_errors(&f, abs_mean, abs_dev, p->eps, p->rms);
    return f;
}

void norm_forward(const struct norm_problem *p, const double *x, double *y,
                  double *error)
{
    for (int64_t r = 0; r < p->rows; r++) {
        struct norm_facts f = norm_facts_of(p, x, r);
        for (int64_t k = 0; k < p->n; k++) {
            int64_t i = r * p->n + k;
            double beta = p->beta == NULL ? 0.0 : p->beta[k];
            double d = x[i] - f.mean;
            y[i] = d * f.rstd * gamma_at(p, k) + beta;
            error[i] = bound_normalised(&f, d, gamma_at(p, k), beta);
        }
    }
}

/* The terms of one element in the averages of its row. */
static struct norm_slope
layer_norm_oracle_slope_of(const struct norm_problem *p,
                           const struct norm_facts *f, const double *x,
                           const double *dy, int64_t r, int64_t k)
{
    int64_t i = r * p->n + k;
    struct norm_slope e = {.z = (x[i] - f->mean) * f->rstd,
                           .g = dy[i] * gamma_at(p, k)};
    if (p->rstd == NULL)
        e.z_error = f->rstd * f->mean_error * (1.0 + f->rstd_error) +
                    fabs(e.z) * f->rstd_error;
    return e;
}

static void backward_row(const struct norm_problem *p, const double *x,
                         const double *dy, double tiny, int64_t r, double *dx,
                         double *error)
{
    struct norm_facts f = norm_facts_of(p, x, r);
    double g = 0.0, gz = 0.0, abs_g = 0.0, abs_gz = 0.0, g_error = 0.0;
    for (int64_t k = 0; k < p->n; k++) {
        struct norm_slope e = layer_norm_oracle_slope_of(p, &f, x, dy, r, k);
        g += p->rms ? 0.0 : e.g / f.n;
        abs_g += p->rms ? 0.0 : fabs(e.g) / f.n;
        gz += e.g * e.z / f.n;
        abs_gz += fabs(e.g * e.z) / f.n;
        g_error += fabs(e.g) * e.z_error / f.n;
    }
    for (int64_t k = 0; k < p->n; k++) {
        struct norm_slope e = layer_norm_oracle_slope_of(p, &f, x, dy, r, k);
        e.avg_g = abs_g;
        e.avg_gz = abs_gz;
        e.avg_g_error = g_error;
        dx[r * p->n + k] = f.rstd * (e.g - g - e.z * gz);
        error[r * p->n + k] =
            bound_normalised_backward(&f, &e, p->rstd == NULL, tiny);
    }
}

void norm_backward(const struct norm_problem *p, const double *x,
                   const double *dy, double tiny, double *dx, double *error)
{
    for (int64_t r = 0; r < p->rows; r++)
        backward_row(p, x, dy, tiny, r, dx, error);
}

void norm_backward_sums(const struct norm_problem *p, const double *x,
                        const double *dy, double *dgamma, double *gamma_error,
                        double *dbeta, double *beta_error)
{
    double rows = (double)p->rows;
    for (int64_t k = 0; k < p->n; k++)
        dgamma[k] = gamma_error[k] = dbeta[k] = beta_error[k] = 0.0;
    /* the errors are sums of absolute values first; z_errors: the bounds of z
     */
    double *z_errors = calloc((size_t)p->n + 1, sizeof(double));
    if (z_errors == NULL)
        abort();
    for (int64_t r = 0; r < p->rows; r++) {
        struct norm_facts f = norm_facts_of(p, x, r);
        for (int64_t k = 0; k < p->n; k++) {
            struct norm_slope e =
                layer_norm_oracle_slope_of(p, &f, x, dy, r, k);
            double g = dy[r * p->n + k];
            dgamma[k] += g * e.z;
            gamma_error[k] += fabs(g * e.z);
            dbeta[k] += g;
            beta_error[k] += fabs(g);
            z_errors[k] += fabs(g) * e.z_error;
        }
    }
    for (int64_t k = 0; k < p->n; k++) {
        gamma_error[k] =
            bound_normalised_sums(rows, gamma_error[k], z_errors[k]);
        beta_error[k] = bound_normalised_sums(rows, beta_error[k], 0.0);
    }
    free(z_errors);
}
