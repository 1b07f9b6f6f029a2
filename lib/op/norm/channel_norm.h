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
    struct view found; /* optional: [parts, 3 c + 1], f32, contiguous: of each
                          part the means, what rounding took of them, the
                          variances, and how many elements a channel has */
    struct view rest;  /* out, optional, of pooled ones that are computed: [c],
                          f32, contiguous, what rounding took of the means */
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

/* ---- parts_norm.c: a batch in parts, which are ranks or pieces ---- */

/** Merge the spatial dimensions of views [n, c, spatial..], as far as all of
 *  them allow it, and leave at least one: a matrix [n, c] gets one of size 1.
 *  Absent views are passed over; the first is present, and tells the rank. */
void channel_merge_spatial(struct view **views, int n);

/** How a part's ops are enqueued: pieces_norm() and pieces_gradient(), or for
 *  pieces themselves without a further cut. */
typedef ssq_status (*norm_enqueue_fn)(ssq_queue *queue,
                                      const struct channel_norm_op *op);
typedef ssq_status (*gradient_enqueue_fn)(
    ssq_queue *queue, const struct channel_norm_backward_op *op);

/** How many elements of a channel are in x. */
static inline int64_t channel_elements(const struct view *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= i == 1 ? 1 : x->shape[i];
    return n;
}

/** Elements at .. at + n of a contiguous view of float32, as [n]. */
struct view floats_of(const struct view *v, int64_t at, int64_t n,
                      enum access access);
/** The statistics of a part, as a row of `found`: own is [3 c + 1]. x may be
 *  without elements. */
ssq_status part_find(ssq_queue *queue, const struct channel_norm_op *op,
                     const struct view *own, norm_enqueue_fn enqueue);
/** Merge what was found of all parts, [parts, 3 c + 1], and normalise x, which
 *  may be without elements. */
ssq_status parts_merge(ssq_queue *queue, const struct channel_norm_op *op,
                       const struct view *all, norm_enqueue_fn enqueue);
/** The sums of dy and of dy z of a part, and its elements of a channel: sums is
 *  [2 c + 1]. dbeta and dgamma, too, where they are present. */
ssq_status part_sums(ssq_queue *queue,
                     const struct channel_norm_backward_op *op,
                     const struct view *sums, gradient_enqueue_fn enqueue);
/** dx, from the sums of all parts, which become averages in place. */
ssq_status parts_gradient(ssq_queue *queue,
                          const struct channel_norm_backward_op *op,
                          const struct view *sums, gradient_enqueue_fn enqueue);

/* ---- pieces_norm.c: an x that is larger than a launch sees ---- */

/** As queue_enqueue. Where an operand is too large for a launch: in pieces. A
 *  batch of several pieces has the statistics of its parts, merged. */
ssq_status pieces_norm(ssq_queue *queue, const struct channel_norm_op *op);
ssq_status pieces_gradient(ssq_queue *queue,
                           const struct channel_norm_backward_op *op);

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
