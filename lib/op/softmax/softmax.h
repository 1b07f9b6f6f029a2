/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - what backends get for softmax and log-softmax.
 *
 * All views have one shape: the last dimension is the axis, the others, any
 * number of them, count rows. There is at least one row and one element in
 * each. Any strides. Sums over a row of n take at most 64 + ceil(n / 64)
 * dependent float32 additions (blocks of n / 64, then their sums), or are
 * double: tests/bounds_rows.h relies on it. */
#ifndef LIB_OP_SOFTMAX_SOFTMAX_H
#define LIB_OP_SOFTMAX_SOFTMAX_H

#include "lib/core/core.h"

/** LOG: y = log softmax(x), and its gradient from y as well. */
enum softmax_kind { SOFTMAX_PLAIN = 0, SOFTMAX_LOG = 1 };

/** y may be x exactly. */
struct softmax_op {
    struct op op;
    enum softmax_kind kind;
    uint32_t gap;
    struct view x, y;
};

/** dx may be y or dy exactly. */
struct softmax_backward_op {
    struct op op;
    enum softmax_kind kind;
    uint32_t gap;
    struct view y, dy, dx;
};

#endif
