/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - the ops of softmax and log-softmax.
 *
 * All views have one shape, with any strides. The last dimension is the axis;
 * the others, any number of them, count rows. There is at least one row, and
 * one element in each. A sum over a row of n is double, or takes at most 64 +
 * ceil(n / 64) dependent float32 additions: blocks of n / 64, then their sums.
 * conformance/bounds_rows.h relies on this. */
#ifndef LIB_OP_SOFTMAX_SOFTMAX_H
#define LIB_OP_SOFTMAX_SOFTMAX_H

#include "lib/core/core.h"

/** LOG: y = log softmax(x); the gradient is computed from y as well. */
enum softmax_kind { SOFTMAX_PLAIN = 0, SOFTMAX_LOG = 1 };

/** y may be exactly x. */
struct softmax_op {
    struct op op;
    enum softmax_kind kind;
    uint32_t gap;
    struct view x, y;
};

/** dx may be exactly y or dy. */
struct softmax_backward_op {
    struct op op;
    enum softmax_kind kind;
    uint32_t gap;
    struct view y, dy, dx;
};

#endif
