/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.h - what backends get for batch norm and group norm.
 *
 * x, y, dy and dx are [n, c, spatial...] of one shape, at least one spatial
 * dimension, merged where they can be, any strides; there is at least one
 * element. Parameters are [c], f32. A set is what shares statistics:
 *
 *     pooled       a channel of the whole batch; groups == c; mean and rstd are
 *                  [1, groups]
 *     otherwise    c / groups channels of one example; they are [n, groups]
 *
 * The sums' chains are bounded as in softmax.h. Statistics are rounded to
 * float32 before they are used, so that saved ones and those computed again
 * are the same bits. */
#ifndef LIB_OP_NORM_CHANNEL_NORM_H
#define LIB_OP_NORM_CHANNEL_NORM_H

#include <sesqui/comm.h>
#include <sesqui/ops/gemm.h>

#include "lib/core/core.h"

/** y may be x exactly. given: running_mean and running_var are normalised
 *  with, and mean and rstd tell them; else these two are updated if present:
 *  running = keep running + momentum new, the variance over one element less
 *  unless it is the population's. found, of pooled ones that are not given: the
 *  statistics are not of x but what these come to together, as
 *  channel_merge.h has it; x is then only normalised. */
struct channel_norm_op {
    struct op op;
    /* pooled: a set is a channel of the whole batch; given: statistics are not
     * computed; population: the running variance is over n values, not n - 1 */
    bool pooled, given, population;
    uint8_t gap[5];
    int64_t groups;            /* sets of the batch, or of an example */
    float eps, keep, momentum; /* keep: 1 - momentum, rounded once */
    ssq_activation activation;
    struct view x;
    struct view gamma, beta;               /* optional */
    struct view running_mean, running_var; /* both or none; given: both */
    struct view y, mean, rstd;             /* out, optional; f32 but y */
    struct view found; /* optional: [ranks, 2 c + 1], f32, contiguous: of each
                          rank the means, the variances and how many elements
                          a channel has there */
};

/** dx may be x or dy exactly: dgamma and dbeta are summed before it is
 *  written. given: statistics do not depend on x. With average, pooled and not
 *  given, dx is made of those averages of dy and of dy z, and dgamma and dbeta
 *  are absent. */
struct channel_norm_backward_op {
    struct op op;
    bool pooled, given; /* as in channel_norm_op */
    uint8_t gap[6];
    int64_t groups;
    struct view x;
    struct view gamma;      /* optional */
    struct view mean, rstd; /* f32, saved or computed again: present */
    struct view dy;
    struct view dx, dgamma, dbeta; /* out, optional */
    struct view average;           /* optional: [2, c], f32, contiguous */
};

/** What batch norm and group norm have in common; absent tensors are NULL. */
struct channel_norm_call {
    const char *name; /* of the public function, for error texts */
    bool pooled, given, population; /* as in channel_norm_op */
    const ssq_tensor *x, *gamma, *beta, *running_mean, *running_var;
    const ssq_tensor *y, *mean, *rstd;          /* backward: y is NULL */
    const ssq_tensor *dy, *dx, *dgamma, *dbeta; /* of backward */
    int axis;       /* of the channels; negative ones count from the end */
    int64_t groups; /* pooled: unused */
    double momentum, eps;
    ssq_activation activation;
    ssq_comm *comm; /* statistics are over its ranks; NULL: of x */
};

/** Check everything and enqueue. */
ssq_status channel_norm(ssq_queue *queue, const struct channel_norm_call *call);
ssq_status channel_norm_backward(ssq_queue *queue,
                                 const struct channel_norm_call *call);

/* ---- ranks_norm.c: a call whose statistics are over ranks ---- */

/** Is it one of several ranks? */
bool ranks_norm(const struct channel_norm_call *call);
/** SSQ_OK, or what is wrong with the communicator of a call that uses it. */
ssq_status ranks_check(const ssq_queue *queue,
                       const struct channel_norm_call *call);
/** Enqueue such an op, which is whole but for the ranks' part. x may be without
 *  elements. */
ssq_status ranks_forward(ssq_queue *queue, const struct channel_norm_call *call,
                         const struct channel_norm_op *op);
ssq_status ranks_backward(ssq_queue *queue,
                          const struct channel_norm_call *call,
                          const struct channel_norm_backward_op *op);

#endif
