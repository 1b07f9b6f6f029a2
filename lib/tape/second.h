/* SPDX-License-Identifier: Apache-2.0 */
/* second.h - gradients as vars, of which there are gradients again: the rules
 * of the ops, and what they have in common (chain.c).
 *
 * A rule writes the derivative of its op with other ops over vars, so that what
 * it makes is noted where it leads to a parameter. Nothing is cast there but by
 * the rule: 16-bit operands of a formula become float32, and what is given to
 * an operand gets its shape and dtype. Errors are latched: a rule looks at
 * none. */
#ifndef LIB_TAPE_SECOND_H
#define LIB_TAPE_SECOND_H

#include <sesqui/vars.h>

#include "lib/tape/tape.h"

/** A node on the way back. */
struct chain {
    ssq_tape *t;
    struct node n;
    const void *args; /* of its call */
    ssq_var dy;       /* the gradient of its result, of the result's shape */
};

/** The gradients of a loss as vars, in the slopes of the values that are
 *  sought, from its own, the seed. What fails is latched. */
ssq_status second_walk(ssq_tape *t, const char *where, uint32_t loss,
                       uint32_t seed);

/* ---- what a rule is given ---- */

/** True if a gradient goes to operand i: without one its rule need not be
 *  followed. */
bool chain_wants(const struct chain *c, unsigned i);
/** Operand i, which nobody has written since; in float32; the result. */
ssq_var chain_var(struct chain *c, unsigned i);
ssq_var chain_wide(struct chain *c, unsigned i);
ssq_var chain_result(struct chain *c);
/** The gradient of the result in float32. */
ssq_var chain_slope(struct chain *c);
/** True if nobody has written a tensor of the options since; latches. at: its
 *  place in the arguments. */
bool chain_unwritten(struct chain *c, size_t at);
/** The same tensor as a var that nothing leads to; SSQ_VAR_NONE: there is none.
 */
ssq_var chain_option(struct chain *c, size_t at);

/* ---- what it makes of that ---- */

/** The var of a value, or an inert one after latching what went wrong. */
ssq_var chain_value(const struct chain *c, ssq_status st, uint32_t id);

ssq_var chain_mul(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_add(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_sub(const struct chain *c, ssq_var a, ssq_var b);
ssq_var chain_times(const struct chain *c, ssq_var x, double factor);
ssq_var chain_plus(const struct chain *c, ssq_var x, double number);
/** A number of no dimension. */
ssq_var chain_number(const struct chain *c, double number, ssq_dtype dtype);
/** 0 in the dtype of the result's gradient. */
ssq_var chain_zero(const struct chain *c);
/** x, or a copy without gaps, as products and convolutions want it. */
ssq_var chain_dense(const struct chain *c, ssq_var x);
/** The sum over a dimension, which stays with size 1. */
ssq_var chain_sum(const struct chain *c, ssq_var x, int axis);

/** Where a compares so with b, in bytes; NULL once the tape has failed. */
typedef ssq_status chain_compare(ssq_queue *queue,
                                 const ssq_compare_args *args);
const ssq_tensor *chain_where(const struct chain *c, chain_compare *compare,
                              ssq_var a, ssq_var b);
/** a where a byte of where is not 0, else b. */
ssq_var chain_choose(const struct chain *c, const ssq_tensor *where, ssq_var a,
                     ssq_var b);

/* ---- what it answers ---- */

/** A gradient of operand i; of a value. It is summed where the operand was
 *  repeated, and added to what others have given. */
void chain_give(struct chain *c, unsigned i, ssq_var g);
void chain_give_to(struct chain *c, uint32_t id, ssq_var g);

/* ---- rules ---- */

/** Every op whose gradients have gradients, by its name on a tape. */
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
