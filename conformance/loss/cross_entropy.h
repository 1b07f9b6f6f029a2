/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.h - the float64 oracle of cross-entropy and nll_loss. */
#ifndef CONFORMANCE_LOSS_CROSS_ENTROPY_H
#define CONFORMANCE_LOSS_CROSS_ENTROPY_H

#include "conformance/suite.h"

/** Logits as rows of classes: dimension 1 (0 for rank 1) holds the classes. */
struct row_set {
    int64_t n, count, inner; /* classes, rows, elements between classes */
    int rank;                /* of the targets */
    int64_t shape[SSQ_MAX_RANK];
};
struct row_set row_set_of(int rank, const int64_t *shape);

struct problem {
    struct row_set rows;
    bool log_probs;
    double smoothing, ignore;
    ssq_reduction reduction;
    const double *target; /* one of target and prob */
    const double *prob;
    const double *weight; /* or NULL */
    const double *dloss;  /* or NULL */
    bool dloss_each;
};

/** loss: one, or one per row; dx: as x. Each with its error bound. */
void cross_entropy_oracle(const struct problem *p, const double *x, double tiny,
                          double *loss, double *loss_error, double *dx,
                          double *dx_error);
/** sum(dloss * loss) for difference_check; data is a struct problem. */
double cross_entropy_sum(const void *data, const double *x);
/** The sum of the absolute values of all its terms. */
double cross_entropy_size(const struct problem *p, const double *x);

/** Edge i of CROSS_ENTROPY_EDGES: torch's numbers, ignored NaN, no weight,
 *  refusals. */
#define CROSS_ENTROPY_EDGES 11
void cross_entropy_edge_text(size_t i, char *text, size_t bytes);
bool cross_entropy_edge(struct harness *b, size_t i);

#endif
