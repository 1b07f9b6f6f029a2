/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - ops that reduce over axes, and their backward.
 *
 * Operands have one form. x has the kept dimensions first (`kept` of them),
 * then the reduced ones, both in their old order and both collapsed. y has only
 * the kept ones. Either part may have rank 0; neither is empty. */
#ifndef LIB_OP_REDUCE_REDUCE_H
#define LIB_OP_REDUCE_REDUCE_H

#include "lib/core/core.h"

enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN
};

/** y = the reduction of x. Sums and products are folded in the order of
 *  kernels/reduce/norm.h, or in one whose chains are not longer. Extremes are
 *  exact. */
struct reduce_op {
    struct op op;
    enum reduce_kind kind;
    int kept;      /* how many of x's dimensions y has */
    float divisor; /* REDUCE_MEAN: the elements of one sum */
    uint32_t gap;
    struct view x, y;
};

/** y (i32) = the position of the first, or the last, extreme along x's last
 *  dimension. */
struct argmax_op {
    struct op op;
    bool minimum, last;
    uint8_t gap[2];
    int kept; /* x.rank - 1 */
    struct view x, y;
};

/** REDUCE_MEAN: dx = dy / divisor. REDUCE_MAX: dx = dy / ties for elements of x
 *  that equal y. dx and x have kept and reduced dimensions; dy and y have only
 *  the kept ones. */
struct reduce_backward_op {
    struct op op;
    enum reduce_kind kind; /* REDUCE_MAX is used for min, too */
    int kept;
    float divisor; /* REDUCE_MEAN only */
    uint32_t gap;
    struct view dy, dx;
    struct view x, y; /* REDUCE_MAX only */
};

/** y (f32, one element) = the L2 norm of x, folded in the order of
 *  kernels/reduce/norm.h. x is collapsed. If x is too long for a launch it is
 *  absent, and the list has its pieces: whole chunks, except for the last
 *  piece. */
struct norm_op {
    struct op op;
    struct view x, y;
};

#endif
