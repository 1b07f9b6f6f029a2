/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - ops on one element of each operand at a time.
 *
 * kind is a number of UNARY_KINDS in kernels/elementwise/unary_kinds.h, or one
 * of the BINARY_ or COMPARE_ values of kernels/elementwise/elementwise.h.
 * Unless stated otherwise, the views of an op have one shape. Operands are all
 * float (in any mix), or all i32 and u8. */
#ifndef LIB_OP_ELEMENTWISE_ELEMENTWISE_H
#define LIB_OP_ELEMENTWISE_ELEMENTWISE_H

#include "lib/core/core.h"

/** y = f(x). Integers: only abs and neg. */
struct unary_op {
    struct op op;
    uint32_t kind;
    float alpha, beta; /* see UNARY_KINDS */
    uint32_t gap;
    struct view x, y;
};

/** dx = dy f'(x); floats only; dx may be exactly x or dy. */
struct unary_backward_op {
    struct op op;
    uint32_t kind;
    float alpha, beta;
    uint32_t gap;
    struct view x, dy, dx;
};

/** y = f(a, b). Integers: add, sub, mul, maximum, minimum. */
struct binary_op {
    struct op op;
    uint32_t kind;
    float alpha, beta; /* of axpby */
    uint32_t gap;
    struct view a, b, y;
};

/** dx = the gradient of f for a, or for b if second is 1. The first dx.rank
 *  dimensions (0: dx is one element) are dx's. Terms are summed over the others
 *  (none: one term) in the order of kernels/reduce/norm.h: lanes begin with
 *  their first term, and lanes without terms are left out. An operand that the
 *  kind does not read is a second view of dy. */
struct binary_backward_op {
    struct op op;
    uint32_t kind;
    uint32_t second; /* 1: of b; 0: of a */
    struct view a, b, dy, dx;
};

/** y = a < b, or another comparison, as 0 or 1; y is u8. */
struct compare_op {
    struct op op;
    uint32_t kind;
    uint32_t gap;
    struct view a, b, y;
};

/** y = cond != 0 ? a : b, bit for bit when the dtypes are equal; cond is u8. */
struct where_op {
    struct op op;
    struct view cond, a, b, y;
};

/** y = x (alpha scale); floats only; y may be exactly x. If scale is absent,
 *  the factor is alpha. */
struct scale_op {
    struct op op;
    float alpha;
    uint32_t gap;
    struct view x, y;
    struct view scale; /* optional: one f32 */
};

/** An input of a broadcasting op. */
struct broadcast_input {
    const ssq_tensor *tensor;
    const char *what;  /* its name, for example "a" */
    struct view *view; /* out: the tensor's view in y's shape */
};

/** Broadcast n inputs; y's shape must be exactly their common shape. what: y's
 *  name. */
ssq_status broadcast_inputs(const struct broadcast_input *in, int n,
                            const ssq_tensor *y, const char *what,
                            const char *op);

/** Check that inputs and y are all float, or, if integers is true, all i32 and
 *  u8. In the latter case y may be u8 only if all inputs are. */
ssq_status check_mix(const struct broadcast_input *in, int n,
                     const ssq_tensor *y, bool integers, const char *op);

#endif
