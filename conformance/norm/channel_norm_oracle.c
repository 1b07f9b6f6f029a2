/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm_oracle.c - batch norm and group norm in float64. */
#include "conformance/norm/channel_norm.h"

int64_t channel_count(const struct channel_entry *e)
{
    return e->shape[e->axis < 0 ? e->axis + e->rank : e->axis];
}

int channel_sets_shape(const struct channel_entry *e, int64_t *shape)
{
    shape[0] = e->batch ? channel_count(e) : e->shape[0];
    shape[1] = e->groups;
    return e->batch ? 1 : 2;
}

struct channel_problem channel_problem_of(struct harness *b,
                                          const struct channel_entry *e)
{
    int axis = e->axis < 0 ? e->axis + e->rank : e->axis;
    int64_t after = 1, n = 1, sets[2], c = e->shape[axis];
    for (int i = 0; i < e->rank; i++) {
        n *= e->shape[i];
        after *= i > axis ? e->shape[i] : 1;
    }
    int rank = channel_sets_shape(e, sets);
    int64_t *channel_of = harness_alloc(b, (size_t)n * sizeof(int64_t));
    int64_t *set_of = harness_alloc(b, (size_t)n * sizeof(int64_t));
    for (int64_t i = 0; i < n; i++) {
        channel_of[i] = i / after % c;
        set_of[i] = channel_of[i];
        if (!e->batch)
            set_of[i] = i / (n / e->shape[0]) * e->groups +
                        channel_of[i] / (c / e->groups);
    }
    struct channel_problem p = {.elements = n,
                                .channels = c,
                                .sets = rank == 1 ? sets[0] : sets[0] * sets[1],
                                .given = e->batch && !e->training,
                                .eps = (double)(float)e->eps,
                                .channel_of = channel_of,
                                .set_of = set_of};
    p.facts = harness_alloc(b, (size_t)p.sets * sizeof(*p.facts));
    return p;
}

/* Statistics that x does not change. */
static struct norm_facts facts_given(const struct channel_problem *p, int64_t s)
{
    struct norm_facts f = {.mean = p->mean[s]};
    if (p->rstd != NULL) {
        f.rstd = p->rstd[s];
        return f;
    }
    f.var = p->var[s];
    f.rstd = 1.0 / sqrt(f.var + p->eps);
    norm_errors_given(&f);
    return f;
}

void channel_facts(const struct channel_problem *p, const double *x)
{
    struct norm_facts *f = p->facts;
    for (int64_t s = 0; s < p->sets; s++)
        f[s] = (struct norm_facts){.n = 0.0};
    for (int64_t i = 0; i < p->elements; i++) {
        struct norm_facts *g = &f[p->set_of[i]];
        g->n += 1.0;
        g->mean += x[i];
        g->mean_error += fabs(x[i]); /* for now: the sum of |x| */
    }
    for (int64_t s = 0; s < p->sets; s++)
        f[s].mean /= f[s].n; /* NaN without elements */
    for (int64_t i = 0; i < p->elements; i++) {
        struct norm_facts *g = &f[p->set_of[i]];
        g->var += (x[i] - g->mean) * (x[i] - g->mean) / g->n;
        g->var_error += fabs(x[i] - g->mean); /* likewise */
    }
    for (int64_t s = 0; s < p->sets; s++) {
        double n = f[s].n, abs_mean = f[s].mean_error / n;
        double abs_dev = f[s].var_error / n;
        f[s].rstd = 1.0 / sqrt(f[s].var + p->eps);
        norm_errors(&f[s], abs_mean, abs_dev, p->eps, false);
        if (n == 1.0 && isfinite(f[s].mean))
            norm_errors_given(&f[s]); /* the mean is x, the variance 0 */
        if (n == 0.0)
            f[s].mean = f[s].rstd = (double)NAN;
        if (p->mean == NULL)
            continue;
        f[s] = facts_given(p, s);
        f[s].n = n;
    }
}

void channel_forward(const struct channel_problem *p, const double *x,
                     double *y, double *error)
{
    for (int64_t i = 0; i < p->elements; i++) {
        const struct norm_facts *f = &p->facts[p->set_of[i]];
        int64_t c = p->channel_of[i];
        double gamma = p->gamma == NULL ? 1.0 : p->gamma[c];
        double beta = p->beta == NULL ? 0.0 : p->beta[c];
        double d = x[i] - f->mean;
        y[i] = d * f->rstd * gamma + beta;
        error[i] = isinf(f->rstd_error) ? (double)INFINITY
                                        : bound_normalised(f, d, gamma, beta);
    }
}

/* The terms of element i in the sums of its set and its channel. */
static struct norm_slope
channel_norm_oracle_slope_of(const struct channel_problem *p, const double *x,
                             const double *dy, int64_t i)
{
    const struct norm_facts *f = &p->facts[p->set_of[i]];
    double gamma = p->gamma == NULL ? 1.0 : p->gamma[p->channel_of[i]];
    struct norm_slope e = {.z = (x[i] - f->mean) * f->rstd, .g = dy[i] * gamma};
    if (p->rstd == NULL && isinf(f->rstd_error))
        e.z_error = (double)INFINITY;
    else if (p->rstd == NULL)
        e.z_error = f->rstd * f->mean_error * (1.0 + f->rstd_error) +
                    fabs(e.z) * f->rstd_error;
    return e;
}

/* Averages over a set. */
struct averages {
    double g, gz, abs_g, abs_gz, g_error;
};

static void store_dx(const struct channel_problem *p, const struct averages *a,
                     const double *x, const double *dy, double tiny,
                     const struct channel_gradient *g)
{
    for (int64_t i = 0; i < p->elements; i++) {
        const struct norm_facts *f = &p->facts[p->set_of[i]];
        const struct averages *m = &a[p->set_of[i]];
        struct norm_slope e = channel_norm_oracle_slope_of(p, x, dy, i);
        e.avg_g = m->abs_g;
        e.avg_gz = m->abs_gz;
        e.avg_g_error = m->g_error;
        if (p->given) {
            g->dx[i] = f->rstd * e.g;
            g->dx_error[i] = bound_given_backward(f, g->dx[i], tiny);
            continue;
        }
        g->dx[i] = f->rstd * (e.g - m->g - e.z * m->gz);
        g->dx_error[i] =
            bound_normalised_backward(f, &e, p->rstd == NULL, tiny);
        if (p->rstd == NULL && isinf(f->rstd_error)) /* not NaN, by times 0 */
            g->dx_error[i] = (double)INFINITY;
    }
}

void channel_backward(struct harness *b, const struct channel_problem *p,
                      const double *x, const double *dy, double tiny,
                      const struct channel_gradient *g)
{
    struct averages *a = harness_alloc(b, (size_t)p->sets * sizeof(*a));
    size_t channels = (size_t)p->channels;
    double *terms = harness_alloc(b, channels * sizeof(double));
    double *z_error = harness_alloc(b, channels * sizeof(double));
    for (int64_t i = 0; i < p->elements; i++) {
        struct averages *m = &a[p->set_of[i]];
        struct norm_slope e = channel_norm_oracle_slope_of(p, x, dy, i);
        int64_t c = p->channel_of[i];
        double n = p->facts[p->set_of[i]].n;
        m->g += e.g / n;
        m->gz += e.g * e.z / n;
        m->abs_g += fabs(e.g) / n;
        m->abs_gz += fabs(e.g * e.z) / n;
        m->g_error += fabs(e.g) * e.z_error / n;
        g->dgamma[c] += dy[i] * e.z;
        g->dgamma_error[c] += fabs(dy[i] * e.z);
        g->dbeta[c] += dy[i];
        g->dbeta_error[c] += fabs(dy[i]);
        z_error[c] += fabs(dy[i]) * e.z_error;
        terms[c] += 1.0;
    }
    for (size_t c = 0; c < channels; c++) {
        g->dgamma_error[c] = bound_normalised_sums(
            terms[c], g->dgamma_error[c], z_error[c] + terms[c] * tiny);
        g->dbeta_error[c] =
            bound_normalised_sums(terms[c], g->dbeta_error[c], 0.0);
    }
    store_dx(p, a, x, dy, tiny, g);
}
