/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.h - the ops of batch norm and group norm.
 *
 * x, y, dy and dx are [n, c, spatial...] of one shape, with any strides and at
 * least one element. At least one dimension is spatial; spatial dimensions are
 * merged if possible. Parameters are [c], f32. A set is a group of elements
 * that share statistics:
 *
 *     pooled       a channel of the whole batch; groups == c; mean and rstd are
 *                  [1, groups]
 *     otherwise    c / groups channels of one example; they are [n, groups]
 *
 * The chains of sums are bounded as in softmax.h. Statistics are rounded to
 * float32 before they are used, so that saved and recomputed ones have the same
 * bits. */
#ifndef LIB_OP_NORM_CHANNEL_NORM_H
#define LIB_OP_NORM_CHANNEL_NORM_H

#include <sesqui/comm.h>
#include <sesqui/ops/gemm.h>

#include "lib/core/core.h"

/** y may be exactly x.
 *
 *  given: x is normalised with running_mean and running_var; mean and rstd
 *  report these. Otherwise running_mean and running_var are updated, if
 *  present: running = keep running + momentum new. The new variance is over one
 *  element less, unless it is the population's.
 *
 *  found, if pooled and not given: the statistics are not computed from x. They
 *  are merged from these parts, as in channel_merge.h. x is only normalised. */
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
    struct view found; /* optional: [parts, 3 c + 1], f32, contiguous. Of each
                          part: means, their rests (lost by rounding),
                          variances, and the number of elements of a channel */
    struct view rest;  /* out, optional, for computed pooled statistics: [c],
                          f32, contiguous: the rests of the means */
};

/** dx may be exactly x or dy, because dgamma and dbeta are summed before it is
 *  written. given: statistics do not depend on x. average, if pooled and not
 *  given: dx is computed from these averages of dy and of dy z; dgamma and
 *  dbeta are then absent. */
struct channel_norm_backward_op {
    struct op op;
    bool pooled, given; /* as in channel_norm_op */
    uint8_t gap[6];
    int64_t groups;
    struct view x;
    struct view gamma;      /* optional */
    struct view mean, rstd; /* f32, saved or recomputed: present */
    struct view dy;
    struct view dx, dgamma, dbeta; /* out, optional */
    struct view average;           /* optional: [2, c], f32, contiguous */
};

struct ranks_norm;

/** Arguments of batch norm and group norm; absent tensors are NULL. */
struct channel_norm_call {
    const char *name; /* of the public function, for error texts */
    bool pooled, given, population; /* as in channel_norm_op */
    const ssq_tensor *x, *gamma, *beta, *running_mean, *running_var;
    const ssq_tensor *y, *mean, *rstd;          /* backward: y is NULL */
    const ssq_tensor *dy, *dx, *dgamma, *dbeta; /* backward only */
    int axis;       /* of the channels; negative ones count from the end */
    int64_t groups; /* pooled: unused */
    double momentum, eps;
    ssq_activation activation;
    ssq_comm *comm; /* statistics are over its ranks; NULL: only over x */
    const struct ranks_norm *ranks; /* NULL: the call has no comm */
};

/** Check everything and enqueue. */
ssq_status channel_norm(ssq_queue *queue, const struct channel_norm_call *call);
ssq_status channel_norm_backward(ssq_queue *queue,
                                 const struct channel_norm_call *call);

/* ---- parts_norm.c: a batch in parts, which are ranks or pieces ---- */

/** Merge the spatial dimensions of views [n, c, spatial..], as far as all of
 *  them allow it. At least one is left: a matrix [n, c] gets one of size 1.
 *  Absent views are skipped; the first one must be present. */
void channel_merge_spatial(struct view **views, int n);

/** Enqueue the ops of a part: pieces_norm() or pieces_gradient(), or, for
 *  pieces, a function that does not cut them further. */
typedef ssq_status (*norm_enqueue_fn)(ssq_queue *queue,
                                      const struct channel_norm_op *op);
typedef ssq_status (*gradient_enqueue_fn)(
    ssq_queue *queue, const struct channel_norm_backward_op *op);

/** Return the number of elements of a channel in x. */
static inline int64_t channel_elements(const struct view *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= i == 1 ? 1 : x->shape[i];
    return n;
}

/** Return elements at .. at + n - 1 of a contiguous view of float32, as [n]. */
struct view floats_of(const struct view *v, int64_t at, int64_t n,
                      enum access access);
/** Enqueue the statistics of a part, as a row of `found`: own is [3 c + 1]. x
 *  may have no elements. */
ssq_status part_find(ssq_queue *queue, const struct channel_norm_op *op,
                     const struct view *own, norm_enqueue_fn enqueue);
/** Enqueue the merge of the statistics of all parts, [parts, 3 c + 1], and
 *  normalise x, which may have no elements. */
ssq_status parts_merge(ssq_queue *queue, const struct channel_norm_op *op,
                       const struct view *all, norm_enqueue_fn enqueue);
/** Enqueue a part's sums of dy and of dy z, and its number of elements of a
 *  channel: sums is [2 c + 1]. Also sets dbeta and dgamma, if they are
 *  present. */
ssq_status part_sums(ssq_queue *queue,
                     const struct channel_norm_backward_op *op,
                     const struct view *sums, gradient_enqueue_fn enqueue);
/** Enqueue dx from the sums of all parts. The sums become averages in place. */
ssq_status parts_gradient(ssq_queue *queue,
                          const struct channel_norm_backward_op *op,
                          const struct view *sums, gradient_enqueue_fn enqueue);

/* ---- pieces_norm.c: an x that is too large for a launch ---- */

/** Enqueue like queue_enqueue(), but in pieces if an operand is too large for a
 *  launch. Pooled statistics of several pieces are merged from the pieces'. */
ssq_status pieces_norm(ssq_queue *queue, const struct channel_norm_op *op);
ssq_status pieces_gradient(ssq_queue *queue,
                           const struct channel_norm_backward_op *op);

/* ---- a call whose statistics are over ranks ---- */

/** How such a call runs. Communicators are above ops: lib/comm/ranks_norm.c. */
struct ranks_norm {
    /* Return true if the statistics of a call are over several ranks. */
    bool (*several)(const struct channel_norm_call *call);
    /* Check the communicator of a call; SSQ_OK if the call does not use it. */
    ssq_status (*check)(const ssq_queue *queue,
                        const struct channel_norm_call *call);
    /* Enqueue an op over several ranks, which is complete except for found or
     * average. x may have no elements. */
    ssq_status (*forward)(ssq_queue *queue,
                          const struct channel_norm_call *call,
                          const struct channel_norm_op *op);
    ssq_status (*backward)(ssq_queue *queue,
                           const struct channel_norm_call *call,
                           const struct channel_norm_backward_op *op);
};

#endif
