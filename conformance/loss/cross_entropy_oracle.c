/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy_oracle.c - cross-entropy in float64, as torch defines it:
 * aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss. */
#include "conformance/loss/cross_entropy.h"

#include "conformance/bounds_rows.h"

struct row_set row_set_of(int rank, const int64_t *shape)
{
    int axis = rank == 1 ? 0 : 1;
    struct row_set s = {.n = shape[axis], .count = 1, .inner = 1};
    for (int i = 0; i < rank; i++) {
        if (i == axis)
            continue;
        s.shape[s.rank++] = shape[i];
        s.count *= shape[i];
        s.inner *= i > axis ? shape[i] : 1;
    }
    return s;
}

static int64_t cross_entropy_oracle_at(const struct row_set *s, int64_t r,
                                       int64_t k)
{
    return (r / s->inner * s->n + k) * s->inner + r % s->inner;
}

static double weight_of(const struct problem *p, int64_t k)
{
    return p->weight == NULL ? 1.0 : p->weight[k];
}

static bool ignored(const struct problem *p, int64_t r)
{
    return p->target != NULL && p->target[r] == p->ignore;
}

static bool cross_entropy_oracle_wrong(const struct problem *p, int64_t r)
{
    return p->target != NULL && !ignored(p, r) &&
           !(p->target[r] >= 0.0 && p->target[r] < (double)p->rows.n);
}

static double q_of(const struct problem *p, int64_t r, int64_t k)
{
    double y = p->prob != NULL
                   ? p->prob[cross_entropy_oracle_at(&p->rows, r, k)]
                   : (p->target[r] == (double)k ? 1.0 : 0.0);
    return weight_of(p, k) *
           ((1.0 - p->smoothing) * y + p->smoothing / (double)p->rows.n);
}

static bool q_absent(const struct problem *p, int64_t r, int64_t k)
{
    return p->prob == NULL && p->smoothing == 0.0 && p->target[r] != (double)k;
}

static struct softmax_facts
cross_entropy_oracle_facts_of(const struct problem *p, const double *x,
                              int64_t r)
{
    const struct row_set *s = &p->rows;
    struct softmax_facts f = {.n = (double)s->n, .max = -(double)INFINITY};
    for (int64_t k = 0; k < s->n; k++)
        f.max = fmax(f.max, x[cross_entropy_oracle_at(s, r, k)]);
    for (int64_t k = 0; k < s->n; k++)
        f.total += exp(x[cross_entropy_oracle_at(s, r, k)] - f.max);
    f.log_total = log(f.total);
    for (int64_t k = 0; k < s->n; k++) {
        double t = x[cross_entropy_oracle_at(s, r, k)] - f.max,
               e = exp(t) / f.total;
        f.spread += e == 0.0 ? 0.0 : e * fabs(t);
    }
    return f;
}

struct row_result {
    double loss, m; /* m: over absolute values */
    double sum_q, abs_q;
};

static struct row_result
cross_entropy_oracle_row_of(const struct problem *p, const double *x, int64_t r,
                            const struct softmax_facts *f)
{
    struct row_result o = {0};
    if (ignored(p, r) || cross_entropy_oracle_wrong(p, r)) {
        o.loss = ignored(p, r) ? 0.0 : (double)NAN;
        return o;
    }
    for (int64_t k = 0; k < p->rows.n; k++) {
        if (q_absent(p, r, k))
            continue;
        double q = q_of(p, r, k),
               v = x[cross_entropy_oracle_at(&p->rows, r, k)], t = v - f->max;
        o.loss -= q * (p->log_probs ? v : t - f->log_total);
        o.m += fabs(q) * (p->log_probs
                              ? fabs(v)
                              : 1.0 + fabs(t) + fabs(f->log_total) + f->spread);
        o.sum_q += q;
        o.abs_q += fabs(q);
    }
    return o;
}

static double divisor(const struct problem *p)
{
    double sum = 0.0;
    if (p->reduction != SSQ_REDUCTION_MEAN)
        return 1.0;
    if (p->prob != NULL)
        return p->rows.n == 0 ? 0.0 : (double)p->rows.count;
    for (int64_t r = 0; r < p->rows.count; r++)
        if (!ignored(p, r) && !cross_entropy_oracle_wrong(p, r))
            sum += weight_of(p, (int64_t)p->target[r]);
    return sum;
}

static double seed_of(const struct problem *p, int64_t r)
{
    return p->dloss == NULL ? 1.0 : p->dloss[p->dloss_each ? r : 0];
}

static void row_gradient(const struct problem *p, const double *x, int64_t r,
                         const struct softmax_facts *f,
                         const struct row_result *o, double seed, double tiny,
                         double *dx, double *error)
{
    const struct row_set *s = &p->rows;
    for (int64_t k = 0; k < s->n; k++) {
        int64_t i = cross_entropy_oracle_at(s, r, k);
        error[i] = 0.0;
        if (ignored(p, r) || cross_entropy_oracle_wrong(p, r)) {
            dx[i] = ignored(p, r) ? 0.0 : (double)NAN;
            continue;
        }
        double q = q_absent(p, r, k) ? 0.0 : q_of(p, r, k);
        double t = x[i] - f->max, e = exp(t) / f->total;
        if (p->log_probs) {
            dx[i] = q_absent(p, r, k) ? 0.0 : -q * seed;
            e = 0.0;
        } else {
            dx[i] = (e * o->sum_q - q) * seed;
        }
        error[i] = bound_row_gradient(f, (double)s->count, e, t, q, o->abs_q,
                                      seed, tiny);
    }
}

void cross_entropy_oracle(const struct problem *p, const double *x, double tiny,
                          double *loss, double *loss_error, double *dx,
                          double *dx_error)
{
    double count = divisor(p), sum = 0.0, m = 0.0;
    double n = (double)p->rows.n, rows = (double)p->rows.count;
    bool each = p->reduction == SSQ_REDUCTION_NONE;
    for (int64_t r = 0; r < p->rows.count; r++) {
        struct softmax_facts f = cross_entropy_oracle_facts_of(p, x, r);
        struct row_result o = cross_entropy_oracle_row_of(p, x, r, &f);
        sum += o.loss;
        m += o.m;
        if (each) {
            loss[r] = o.loss;
            loss_error[r] = bound_row_loss(n, o.m) + tiny * (1.0 + n);
        }
        row_gradient(p, x, r, &f, &o, seed_of(p, r) / count, tiny, dx,
                     dx_error);
    }
    if (each)
        return;
    loss[0] = sum / count;
    loss_error[0] =
        bound_mean_loss(n, rows, m / fabs(count)) + tiny * (1.0 + n) * rows;
}

double cross_entropy_sum(const void *data, const double *x)
{
    const struct problem *p = data;
    double sum = 0.0, count = divisor(p);
    for (int64_t r = 0; r < p->rows.count; r++) {
        struct softmax_facts f = cross_entropy_oracle_facts_of(p, x, r);
        sum += cross_entropy_oracle_row_of(p, x, r, &f).loss * seed_of(p, r) /
               count;
    }
    return sum;
}

double cross_entropy_size(const struct problem *p, const double *x)
{
    double sum = 0.0, count = divisor(p);
    for (int64_t r = 0; r < p->rows.count; r++) {
        struct softmax_facts f = cross_entropy_oracle_facts_of(p, x, r);
        sum += cross_entropy_oracle_row_of(p, x, r, &f).m *
               fabs(seed_of(p, r) / count);
    }
    return sum;
}
