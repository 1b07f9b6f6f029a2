/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - elementwise losses: the value and the slope at one element. */

#ifndef SSQ_KERNELS_LOSS_H
#define SSQ_KERNELS_LOSS_H

#include "kernels/scalar/scalar.h"

#define LOSS_MSE       0u
#define LOSS_L1        1u
#define LOSS_SMOOTH_L1 2u /* parameter: beta > 0 */
#define LOSS_HUBER     3u /* parameter: delta > 0 */
#define LOSS_BCE       4u /* x: logits */

/* p t softplus(-x) + (1 - t) softplus(x), p the weight of the positives. */
FN float bce_value(float x, float t, float p)
{
    EXACT float positive = p * t;
    EXACT float negative = 1.0f - t;
    positive = positive * s_softplus(s_neg(x));
    negative = negative * s_softplus(x);
    EXACT float sum = positive + negative;
    return sum;
}

/* (1 - t) sigmoid(x) - p t sigmoid(-x). */
FN float bce_slope(float x, float t, float p)
{
    EXACT float positive = p * t;
    EXACT float negative = 1.0f - t;
    positive = positive * s_sigmoid(s_neg(x));
    negative = negative * s_sigmoid(x);
    EXACT float slope = negative - positive;
    return slope;
}

/* A NaN fails every comparison, and ends in the last line of each branch. */
FN float loss_value(u32 kind, float x, float t, float parameter, float p)
{
    if (kind == LOSS_BCE)
        return bce_value(x, t, p);
    EXACT float d = x - t;
    EXACT float square = d * d;
    if (kind == LOSS_MSE)
        return square;
    EXACT float a = s_abs(d);
    if (kind == LOSS_L1)
        return a;
    EXACT float far = a - 0.5f * parameter;
    if (kind == LOSS_SMOOTH_L1) {
        EXACT float near = 0.5f * a * s_div(a, parameter);
        return a < parameter ? near : far;
    }
    if (a <= parameter)
        return 0.5f * square;
    EXACT float line = parameter * far;
    return line;
}

/* The derivative by x. At d = 0 it is d itself: 0 is the subgradient that is
 * chosen where there is a corner. */
FN float loss_slope(u32 kind, float x, float t, float parameter, float p)
{
    if (kind == LOSS_BCE)
        return bce_slope(x, t, p);
    EXACT float d = x - t;
    if (kind == LOSS_MSE)
        return 2.0f * d;
    if (d == 0.0f || s_is_nan(d))
        return d;
    EXACT float one = s_copysign(1.0f, d);
    if (kind == LOSS_L1)
        return one;
    if (kind == LOSS_SMOOTH_L1)
        return s_abs(d) < parameter ? s_div(d, parameter) : one;
    EXACT float edge = s_copysign(parameter, d);
    return s_abs(d) <= parameter ? d : edge;
}

#endif
