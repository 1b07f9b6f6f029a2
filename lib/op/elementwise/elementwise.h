/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - ops on one element of each operand at a time.
 *
 * kind is a number of UNARY_KINDS in kernels/elementwise/unary.h, or one of the
 * BINARY_ or COMPARE_ values of kernels/elementwise/elementwise.h. Unless said,
 * the views of an op have one shape. Operands are all float (any mix), or all
 * i32 and u8. */
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

/** dx = dy f'(x), all of floats; dx may be x or dy exactly. */
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

/** dx, the gradient of f for a, or for b when second is 1: the first dx.rank
 *  dimensions (0: dx is one element) are those of dx, terms are summed over
 *  the others (none: one term) in the order of kernels/reduce/norm.h, where
 * lanes begin with their first term and those that no term reached are left
 * out. An operand that the kind does not read is dy once more. */
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

/** y = x (alpha scale), of floats; y may be x exactly. alpha alone where scale
 *  is absent. */
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
    const char *what;  /* "a" */
    struct view *view; /* becomes the tensor's view in y's shape */
};

/** Broadcast n inputs; y's shape must be exactly what they broadcast to.
 *  what: y's name. */
ssq_status broadcast_inputs(const struct broadcast_input *in, int n,
                            const ssq_tensor *y, const char *what,
                            const char *op);

/** Inputs and y are all float, or, where integers is true, all i32 and u8;
 *  then y is u8 only when all inputs are. */
ssq_status check_mix(const struct broadcast_input *in, int n,
                     const ssq_tensor *y, bool integers, const char *op);

#endif
