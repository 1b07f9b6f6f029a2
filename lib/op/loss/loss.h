/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - the ops of losses. */
#ifndef LIB_OP_LOSS_LOSS_H
#define LIB_OP_LOSS_LOSS_H

#include "lib/core/core.h"

#include <sesqui/ops/loss.h>

enum cross_entropy_kind {
    CROSS_ENTROPY_LOGITS = 0,
    CROSS_ENTROPY_LOG_PROBS = 1 /* x are log-probabilities: dx = -q */
};

/** Cross-entropy and negative log-likelihood, include/sesqui/ops/loss.h. All
 *  views except weight and (for mean and sum) loss have one shape: rows first,
 *  classes last. A value that exists once per row has stride 0 along the
 *  classes. There is at least one row. There may be no class; then x, prob and
 *  dx are empty. The chains of sums are as in softmax.h. dx may be exactly x:
 *  the loss of a row is read from x before dx is written. */
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

/** Elementwise losses, by the LOSS_ kinds of kernels/loss/loss.h. All views
 *  except (for mean and sum) loss have one shape, with elements, any strides.
 *  dx may be exactly x or target. */
struct loss_op {
    struct op op;
    uint32_t kind;
    ssq_reduction reduction;
    float parameter; /* beta or delta; 0 if the kind has none */
    uint32_t gap;
    struct view x, target;
    struct view weight, pos_weight; /* optional */
    struct view dloss;              /* optional, f32; strides may be 0 */
    struct view loss, dx; /* out; one may be absent; loss f32: as x, or [1] */
};

/** Check the arguments that all losses share. loss must have one element, or
 *  with SSQ_REDUCTION_NONE the shape of `each`. dloss may have either in that
 *  case. Of loss and gradient at least one must be given. */
ssq_status loss_check(const char *name, ssq_reduction reduction,
                      const ssq_tensor *loss, const ssq_tensor *dloss,
                      const ssq_tensor *gradient, const char *gradient_name,
                      const struct view *each);
/** End the call of a loss: if a gradient was enqueued and dloss is in a
 *  scaler's memory, notify the scaler that its scale was used. Returns st. */
ssq_status loss_bound(const ssq_tensor *dloss, const ssq_tensor *gradient,
                      ssq_status st);
/** Return a tensor of one element, or of this shape, as a view of this shape;
 *  NULL gives an absent view. */
struct view loss_view(const ssq_tensor *tensor, enum access access, int rank,
                      const int64_t *shape);
/** Fill the loss of no elements or rows: the mean is NaN, the sum 0. */
ssq_status loss_of_none(ssq_queue *queue, ssq_reduction reduction,
                        const ssq_tensor *loss);

#endif
