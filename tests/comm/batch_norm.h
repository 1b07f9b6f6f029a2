/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.h - a batch whose rows are some on each rank, and what batch norm
 * makes of all of it, in float64 and with its bounds. */
#ifndef TESTS_COMM_BATCH_NORM_H
#define TESTS_COMM_BATCH_NORM_H

#include "conformance/bounds_channel.h"
#include "tests/comm/comm.h"

#define EPS      1e-5f
#define MOMENTUM 0.25f
#define MOST     4096 /* elements of a batch */
#define CHANNELS 20
#define PLACES   7 /* of a row, for each channel */

/* Rows of rank r: rows[r]. Channels are dimension 1, or the last one. */
struct batch {
    unsigned n;
    int64_t rows[MOST_RANKS], all;
    ssq_dtype dtype;
    bool last;
    bool far;                /* means of 100 and a deviation of 1 */
    bool mixed;              /* ranks' means differ */
    bool nearly;             /* 10000, and a few units of its last place */
    float x[MOST], dy[MOST]; /* as their dtype has them */
    float gamma[CHANNELS], beta[CHANNELS];
};

static inline int64_t batch_row(void)
{
    return CHANNELS * PLACES;
}

static inline size_t batch_channel(const struct batch *b, size_t i)
{
    return b->last ? i % CHANNELS : i / PLACES % CHANNELS;
}

/* The rank that row i is of. */
static inline unsigned batch_rank(const struct batch *b, int64_t row)
{
    unsigned r = 0;

    for (; row >= b->rows[r]; r++)
        row -= b->rows[r];
    return r;
}

/* In [-1, 1). */
static inline float batch_draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)(*state & ~0xffu) / 0x1p31f;
}

static inline void batch_round(float *x, size_t n, ssq_dtype dtype)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        NEED(
            ssq_convert(&bits, dtype, x + i, SSQ_F32, 1, SSQ_ROUND_NEAREST, 0));
        NEED(
            ssq_convert(x + i, SSQ_F32, &bits, dtype, 1, SSQ_ROUND_NEAREST, 0));
    }
}

static inline void batch_make(struct batch *b)
{
    uint32_t state = 1;

    b->all = 0;
    for (unsigned r = 0; r < b->n; r++)
        b->all += b->rows[r];
    const size_t n = (size_t)(b->all * batch_row());
    for (size_t i = 0; i < n; i++) {
        unsigned r = batch_rank(b, (int64_t)i / batch_row());
        float noise = batch_draw(&state);
        b->x[i] = (b->far ? 100.0f : 0.5f) + noise +
                  0.125f * (float)batch_channel(b, i) +
                  (b->mixed ? (float)r : 0.0f);
        if (b->nearly)
            b->x[i] = 10000.0f + noise / 128;
        b->dy[i] = batch_draw(&state) + 0.25f;
    }
    batch_round(b->x, n, b->dtype);
    batch_round(b->dy, n, b->dtype);
    for (int c = 0; c < CHANNELS; c++) {
        b->gamma[c] = 1.0f + 0.5f * batch_draw(&state);
        b->beta[c] = batch_draw(&state);
    }
}

/* ---- float64 ---- */

/* Of a channel. */
struct channel {
    struct norm_facts f;
    struct rank_facts r;
    double own[MOST_RANKS], own_abs[MOST_RANKS]; /* means of ranks, of |x| */
    double own_dev[MOST_RANKS]; /* and of |x - mean| about a rank's own mean */
    double abs_mean, abs_dev;
    double g, gz, abs_g, abs_gz, g_error; /* averages */
    double dgamma, dbeta, abs_dgamma, abs_dbeta, dgamma_error;
};

struct truth {
    struct channel c[CHANNELS];
    double rows[MOST_RANKS];
};

static inline void truth_means(const struct batch *b, struct truth *t)
{
    const size_t n = (size_t)(b->all * batch_row());

    for (size_t i = 0; i < n; i++) {
        struct channel *c = &t->c[batch_channel(b, i)];
        unsigned r = batch_rank(b, (int64_t)i / batch_row());
        double m = (double)(b->rows[r] * PLACES);
        c->own[r] += (double)b->x[i] / m;
        c->own_abs[r] += fabs((double)b->x[i]) / m;
        c->f.n += 1.0;
        c->f.mean += (double)b->x[i];
        c->abs_mean += fabs((double)b->x[i]);
    }
    for (int k = 0; k < CHANNELS; k++) {
        t->c[k].f.mean /= t->c[k].f.n;
        t->c[k].abs_mean /= t->c[k].f.n;
    }
}

/* Statistics with their errors: of ranks, or of one process alone. */
static inline void truth_statistics(const struct batch *b, struct truth *t,
                                    bool ranks)
{
    const size_t n = (size_t)(b->all * batch_row());

    memset(t, 0, sizeof(*t));
    truth_means(b, t);
    for (size_t i = 0; i < n; i++) {
        struct channel *c = &t->c[batch_channel(b, i)];
        unsigned r = batch_rank(b, (int64_t)i / batch_row());
        double d = (double)b->x[i] - c->f.mean;
        c->f.var += d * d / c->f.n;
        c->abs_dev += fabs(d) / c->f.n;
        c->own_dev[r] +=
            fabs((double)b->x[i] - c->own[r]) / (double)(b->rows[r] * PLACES);
    }
    for (int k = 0; k < CHANNELS; k++) {
        struct channel *c = &t->c[k];
        c->r.ranks = (double)b->n;
        c->f.rstd = 1.0 / sqrt(c->f.var + (double)EPS);
        for (unsigned r = 0; r < b->n; r++) {
            double m = (double)(b->rows[r] * PLACES), d = c->own[r] - c->f.mean;
            c->r.between += m * d * d / c->f.n;
            c->r.most = fmax(c->r.most, m);
            c->r.abs_x = fmax(c->r.abs_x, c->own_abs[r]);
            c->r.abs_dev = fmax(c->r.abs_dev, c->own_dev[r]);
            c->r.abs_mean = fmax(c->r.abs_mean, fabs(c->own[r]));
        }
        if (ranks)
            norm_errors_ranks(&c->f, &c->r, (double)EPS);
        else
            norm_errors(&c->f, c->abs_mean, c->abs_dev, (double)EPS, false);
    }
}

static inline struct norm_slope truth_slope(const struct batch *b,
                                            const struct truth *t, size_t i)
{
    const size_t k = batch_channel(b, i);
    const struct channel *c = &t->c[k];
    struct norm_slope e = {.z = ((double)b->x[i] - c->f.mean) * c->f.rstd,
                           .g = (double)b->dy[i] * (double)b->gamma[k],
                           .avg_g = c->abs_g,
                           .avg_gz = c->abs_gz,
                           .avg_g_error = c->g_error};

    e.z_error = c->f.rstd * c->f.mean_error * (1.0 + c->f.rstd_error) +
                fabs(e.z) * c->f.rstd_error;
    return e;
}

static inline void truth_averages(const struct batch *b, struct truth *t)
{
    const size_t n = (size_t)(b->all * batch_row());

    for (size_t i = 0; i < n; i++) {
        struct channel *c = &t->c[batch_channel(b, i)];
        struct norm_slope e = truth_slope(b, t, i);
        double dy = (double)b->dy[i];
        c->g += e.g / c->f.n;
        c->gz += e.g * e.z / c->f.n;
        c->abs_g += fabs(e.g) / c->f.n;
        c->abs_gz += fabs(e.g * e.z) / c->f.n;
        c->g_error += fabs(e.g) * e.z_error / c->f.n;
        c->dgamma += dy * e.z;
        c->dbeta += dy;
        c->abs_dgamma += fabs(dy * e.z);
        c->abs_dbeta += fabs(dy);
        c->dgamma_error += fabs(dy) * e.z_error;
    }
}

/* y and dx of element i, and how far off they may be. */
static inline double truth_y(const struct batch *b, const struct truth *t,
                             size_t i, double *error)
{
    const size_t k = batch_channel(b, i);
    const struct norm_facts *f = &t->c[k].f;
    double d = (double)b->x[i] - f->mean, gamma = (double)b->gamma[k];
    double y = d * f->rstd * gamma + (double)b->beta[k];

    *error = bound_store(y, bound_normalised(f, d, gamma, (double)b->beta[k]),
                         b->dtype);
    return y;
}

static inline double truth_dx(const struct batch *b, const struct truth *t,
                              size_t i, double *error)
{
    const struct channel *c = &t->c[batch_channel(b, i)];
    struct norm_slope e = truth_slope(b, t, i);
    double dx = c->f.rstd * (e.g - c->g - e.z * c->gz);
    double m = fabs(e.g) + e.avg_g + fabs(e.z) * e.avg_gz;
    double off = bound_normalised_backward(&c->f, &e, true, bound_tiny(false));

    off += bound_ranks_backward(&c->f, &c->r, m);
    *error = bound_store(dx, off, b->dtype);
    return dx;
}

#endif
