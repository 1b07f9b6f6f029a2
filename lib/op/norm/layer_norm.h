/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.h - the ops of layer norm and RMS norm.
 *
 * All present views have one shape. The last `inner` dimensions are a row; the
 * others, any number of them, count rows. There is at least one row, and one
 * element in each. Strides may have any value. mean and rstd have strides of 0
 * inside rows; gamma, beta and their gradients have strides of 0 between rows.
 * The chains of sums are bounded as in softmax.h, over rows too. Statistics are
 * rounded to float32 before they are used, so that saved and recomputed ones
 * have the same bits. */
#ifndef LIB_OP_NORM_LAYER_NORM_H
#define LIB_OP_NORM_LAYER_NORM_H

#include "lib/core/core.h"

enum norm_kind {
    NORM_LAYER = 0,
    NORM_RMS = 1 /* the mean is 0 and absent */
};

/** y may be exactly x. */
struct layer_norm_op {
    struct op op;
    enum norm_kind kind;
    int inner; /* dimensions of a row, the last ones */
    float eps;
    uint32_t gap;
    struct view x;
    struct view gamma, beta;   /* optional */
    struct view y, mean, rstd; /* out, optional; mean and rstd f32 */
};

/** dx may be exactly x or dy, because dgamma and dbeta are summed before it is
 *  written. */
struct layer_norm_backward_op {
    struct op op;
    enum norm_kind kind;
    int inner; /* dimensions of a row, the last ones */
    struct view x;
    struct view gamma;      /* optional */
    struct view mean, rstd; /* f32; mean is absent for RMS norm */
    struct view dy;
    struct view dx, dgamma, dbeta; /* out, optional */
};

#endif
