/* SPDX-License-Identifier: Apache-2.0 */
/* second.h - gradients as vars, which have gradients in turn: the rules of the
 * ops, and helpers for them (chain.c).
 *
 * A rule computes the derivative of its op with other ops on vars. These ops
 * are noted like others, if they depend on a parameter. Autocast is off, so a
 * rule must cast explicitly: 16-bit operands of a formula become float32.
 * chain_give() converts a gradient to the operand's shape and dtype.
 *
 * Errors are latched, so rules need not check them. */
#ifndef LIB_TAPE_SECOND_H
#define LIB_TAPE_SECOND_H

#include <sesqui/vars.h>

#include "lib/tape/tape.h"

/** A node during the walk back. */
struct chain {
    ssq_tape *t;
    struct node n;
    const void *args; /* of the node's call */
    ssq_var dy;       /* the gradient of its result, in the same shape */
};

/** Set the `slope` of each sought value to its gradient as a var. Errors are
 *  latched.
 *  @param loss  the value to begin at
 *  @param seed  the gradient of the loss */
ssq_status second_walk(ssq_tape *t, const char *where, uint32_t loss,
                       uint32_t seed);

/* ---- the input of a rule ---- */

/** Return true if operand i receives a gradient. If not, the rule need not
 *  compute it. */
bool chain_wants(const struct chain *c, unsigned i);
/** Return operand i as it is (chain_var) or in float32 (chain_wide). Latches an
 *  error if its memory was written after the call. chain_result() returns the
 *  result in float32. */
ssq_var chain_var(struct chain *c, unsigned i);
ssq_var chain_wide(struct chain *c, unsigned i);
ssq_var chain_result(struct chain *c);
/** Return the gradient of the result in float32. */
ssq_var chain_slope(struct chain *c);
/** Return true if a tensor of the options was not written after the call.
 *  Otherwise latches an error.
 *  @param at  its offset in the arguments */
bool chain_unwritten(struct chain *c, size_t at);
/** Return the same tensor as a var without a gradient, or SSQ_VAR_NONE if the
 *  option is NULL. */
ssq_var chain_option(struct chain *c, size_t at);

/* ---- arithmetic ---- */

/** Return the var of a value. If st is an error, latch it and return an inert
 *  var. */
ssq_var chain_value(const struct chain *c, ssq_status st, uint32_t id);

ssq_var chain_mul(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_add(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_sub(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_times(const struct chain *c, ssq_var x, double factor);
ssq_var chain_plus(const struct chain *c, ssq_var x, double number);
/** Return a number as a var of rank 0. */
ssq_var chain_number(const struct chain *c, double number, ssq_dtype dtype);
/** Return 0 in the dtype of the result's gradient. */
ssq_var chain_zero(const struct chain *c);
/** Return x if it is contiguous, otherwise a contiguous copy. Matmuls and
 *  convolutions need this. */
ssq_var chain_dense(const struct chain *c, ssq_var x);
/** Return the sum over a dimension, which is kept with size 1. */
ssq_var chain_sum(const struct chain *c, ssq_var x, int axis);

/** Compare a with b for each element. Returns bytes, or NULL after the tape has
 *  failed. */
typedef ssq_status chain_compare(ssq_queue *queue,
                                 const ssq_compare_args *args);
const ssq_tensor *chain_where(const struct chain *c, chain_compare *compare,
                              ssq_var a, ssq_var b);
/** Return a for elements at which `where` is not 0, otherwise b. */
ssq_var chain_choose(const struct chain *c, const ssq_tensor *where, ssq_var a,
                     ssq_var b);

/* ---- the output of a rule ---- */

/** Add g to the gradient of operand i (chain_give) or of a value
 *  (chain_give_to). It is summed over dimensions in which the operand was
 *  broadcast. */
void chain_give(struct chain *c, unsigned i, ssq_var g);
void chain_give_to(struct chain *c, uint32_t id, ssq_var g);

/* ---- rules ---- */

/** All ops that have a second derivative, by their name on a tape. */
#define SECOND_RULES(X)                                                        \
    X(relu)                                                                    \
    X(leaky_relu)                                                              \
    X(elu)                                                                     \
    X(gelu)                                                                    \
    X(gelu_tanh)                                                               \
    X(silu)                                                                    \
    X(sigmoid)                                                                 \
    X(tanh)                                                                    \
    X(softsign)                                                                \
    X(softplus)                                                                \
    X(exp)                                                                     \
    X(expm1)                                                                   \
    X(log)                                                                     \
    X(log1p)                                                                   \
    X(sqrt)                                                                    \
    X(rsqrt)                                                                   \
    X(reciprocal)                                                              \
    X(abs)                                                                     \
    X(neg)                                                                     \
    X(square)                                                                  \
    X(sin)                                                                     \
    X(cos)                                                                     \
    X(erf)                                                                     \
    X(clamp)                                                                   \
    X(scale)                                                                   \
    X(dropout)                                                                 \
    X(add)                                                                     \
    X(sub)                                                                     \
    X(mul)                                                                     \
    X(div)                                                                     \
    X(maximum)                                                                 \
    X(minimum)                                                                 \
    X(pow)                                                                     \
    X(where)                                                                   \
    X(sum)                                                                     \
    X(mean)                                                                    \
    X(prod)                                                                    \
    X(gemm)                                                                    \
    X(gemm_batched)                                                            \
    X(conv2d)                                                                  \
    X(conv2d_filters)                                                          \
    X(conv_transpose2d)                                                        \
    X(mse)                                                                     \
    X(cast)                                                                    \
    X(reshape)                                                                 \
    X(transpose)                                                               \
    X(broadcast)                                                               \
    X(l1)                                                                      \
    X(smooth_l1)                                                               \
    X(huber)                                                                   \
    X(bce_with_logits)                                                         \
    X(nll_loss)                                                                \
    X(cross_entropy)                                                           \
    X(softmax)                                                                 \
    X(log_softmax)                                                             \
    X(slice)                                                                   \
    X(embed)                                                                   \
    X(concat)                                                                  \
    X(glu)                                                                     \
    X(layer_norm)                                                              \
    X(rms_norm)                                                                \
    X(batch_norm)                                                              \
    X(group_norm)                                                              \
    X(gather_rows)                                                             \
    X(scatter_rows)

typedef void second_fn(struct chain *c);
#define RULE(OP) second_fn second_##OP;
SECOND_RULES(RULE)
#undef RULE

#endif
