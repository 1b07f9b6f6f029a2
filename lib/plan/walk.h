/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - parameters of kernels that walk strided views. */
#ifndef LIB_PLAN_WALK_H
#define LIB_PLAN_WALK_H

#include "kernels/operands/tensor.h"
#include "lib/core/base/view.h"

/** Fill rank and size: dimensions from..to - 1 of the common shape. */
static inline void walk_shape(const struct view *v, int from, int to,
                              uint32_t *rank, uint32_t *size)
{
    *rank = (uint32_t)(to - from);
    for (int i = from; i < to; i++)
        size[i - from] = (uint32_t)v->shape[i];
}

/** Fill the steps of one view for the same dimensions. Kernels do not read the
 *  steps of an absent view. */
static inline void walk_steps(const struct view *v, int from, int to,
                              uint32_t *steps)
{
    for (int i = from; i < to; i++)
        steps[i - from] = (uint32_t)v->stride[i];
}

#endif
