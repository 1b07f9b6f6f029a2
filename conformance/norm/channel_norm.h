/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.h - the float64 oracle of batch norm and group norm, and the
 * cases that forward and backward share. */
#ifndef CONFORMANCE_NORM_CHANNEL_NORM_H
#define CONFORMANCE_NORM_CHANNEL_NORM_H

#include "conformance/bounds_channel.h"
#include "conformance/suite.h"

enum channel_data {
    DATA_NORMAL,
    DATA_FAR, /* mean 100, deviation 1 */
    DATA_TINY,
    DATA_CONSTANT,
    DATA_SPECIAL,
    DATA_ZERO,
    DATA_NEAR /* apart by a few units in the last place */
};

/** One choice of every factor. */
struct channel_entry {
    bool batch;    /* batch norm, else group norm */
    bool training; /* of batch norm */
    bool population;
    int rank, axis;
    int64_t shape[SSQ_MAX_RANK], groups;
    ssq_dtype in, out;
    enum layout layout_in, layout_out;
    enum channel_data data;
    double eps, momentum;
    bool gamma, beta, running, stats;
    ssq_activation activation;
    int place;        /* 0 own, 1 over x, 2 over dy (backward) */
    unsigned outputs; /* backward: bits of dx, dgamma, dbeta */
};
/** Of the one family or the other. */
struct channel_entry channel_entry_of(size_t i, bool batch);
void channel_entry_text(const struct channel_entry *e, bool backward,
                        char *text, size_t bytes);
void channel_make_x(struct harness *b, const struct channel_entry *e,
                    struct operand *x);

/** The case in numbers. A set shares a mean and a variance. */
struct channel_problem {
    int64_t elements, channels, sets;
    bool given;                /* by mean and var, or mean and rstd */
    double eps;                /* as float32 */
    const int64_t *channel_of; /* per element */
    const int64_t *set_of;
    const double *gamma, *beta; /* or NULL */
    const double *mean;         /* per set, or NULL: of x */
    const double *var, *rstd;   /* one of them with mean */
    struct norm_facts *facts;   /* per set: channel_facts finds them */
};
/** Everything but the pointers to values. */
struct channel_problem channel_problem_of(struct harness *b,
                                          const struct channel_entry *e);
/** The shape of mean and rstd. @return its rank */
int channel_sets_shape(const struct channel_entry *e, int64_t *shape);
int64_t channel_count(const struct channel_entry *e);

void channel_facts(const struct channel_problem *p, const double *x);
/** y before the activation. */
void channel_forward(const struct channel_problem *p, const double *x,
                     double *y, double *error);

struct channel_gradient {
    double *dx, *dx_error, *dgamma, *dgamma_error, *dbeta, *dbeta_error;
};
void channel_backward(struct harness *b, const struct channel_problem *p,
                      const double *x, const double *dy, double tiny,
                      const struct channel_gradient *g);

#endif
