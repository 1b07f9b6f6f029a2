/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - what backends get for losses. */
#ifndef LIB_OP_LOSS_LOSS_H
#define LIB_OP_LOSS_LOSS_H

#include "lib/core/core.h"

#include <sesqui/ops/loss.h>

enum cross_entropy_kind {
    CROSS_ENTROPY_LOGITS = 0,
    CROSS_ENTROPY_LOG_PROBS = 1 /* x are log-probabilities: dx = -q */
};

/** Cross-entropy and negative log-likelihood, include/sesqui/ops/loss.h. Views
 *  but weight and (for mean and sum) loss have one shape: rows first, the
 *  classes last, with a stride of 0 there for what exists once per row. There
 *  is at least one row; there may be no class, then x, prob and dx are empty.
 *  Chains of sums as in softmax.h. dx may be x exactly; the loss of a row is
 *  read from x before dx is written. */
struct cross_entropy_op {
    struct op op;
    enum cross_entropy_kind kind;
    ssq_reduction reduction;
    bool smooth; /* label smoothing is not 0 */
    uint8_t gap[3];
    float keep;   /* 1 - e: q[k] = w[k] (keep y[k] + spread) */
    float spread; /* e / classes */
    uint32_t gap2;
    int64_t ignore_index;
    struct view x;
    struct view target, prob; /* exactly one is present; target i32 */
    struct view weight;       /* optional: [classes] */
    struct view dloss; /* optional, f32, per row; strides may be 0; absent: 1 */
    struct view loss, dx; /* out; one of them may be absent; loss f32: per
                             row, or [1] for mean and sum */
};

/** Elementwise losses, by the LOSS_ kinds of kernels/loss/loss.h. Views but
 * (for mean and sum) loss have one shape, with elements, any strides. dx may be
 * x or target exactly. */
struct loss_op {
    struct op op;
    uint32_t kind;
    ssq_reduction reduction;
    float parameter; /* beta or delta; 0 where the kind has none */
    uint32_t gap;
    struct view x, target;
    struct view weight, pos_weight; /* optional */
    struct view dloss;              /* optional, f32; strides may be 0 */
    struct view loss, dx; /* out; one may be absent; loss f32: as x, or [1] */
};

/** Checks that all losses share: loss and dloss have one element, or the
 *  shape of one value each for SSQ_REDUCTION_NONE; something to write. */
ssq_status loss_check(const char *name, ssq_reduction reduction,
                      const ssq_tensor *loss, const ssq_tensor *dloss,
                      const ssq_tensor *gradient, const char *gradient_name,
                      const struct view *each);
/** What all losses end with: a gradient that was enqueued has used the scale
 *  of the scaler that dloss is of, if it is. Answers st. */
ssq_status loss_bound(const ssq_tensor *dloss, const ssq_tensor *gradient,
                      ssq_status st);
/** A tensor of one element, or of this shape, as a view of this shape. */
struct view loss_view(const ssq_tensor *tensor, enum access access, int rank,
                      const int64_t *shape);
/** No element or row: the mean is NaN, the sum 0. */
ssq_status loss_of_none(ssq_queue *queue, ssq_reduction reduction,
                        const ssq_tensor *loss);

#endif
