/* SPDX-License-Identifier: Apache-2.0 */
/* total.h - a sum of many f32s as one or two launches. */
#ifndef LIB_PLAN_REDUCE_TOTAL_H
#define LIB_PLAN_REDUCE_TOTAL_H

#include "lib/plan/plan.h"

/** y[0] = (x[0] + .. + x[n - 1]) / (count divisor[0]), where an absent divisor
 *  is 1; n > 0. At most 64 + n / 64 dependent additions. */
void plan_total(struct plan *p, const struct view *x, uint64_t n, float count,
                const struct view *divisor, const struct view *y);

/** A power of two that n values may be multiplied by, so that a sum of them
 *  overflows only where their mean does; sum / (n * scale) is the mean. */
float plan_scale(uint64_t n);

#endif
