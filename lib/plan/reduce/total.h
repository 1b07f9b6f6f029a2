/* SPDX-License-Identifier: Apache-2.0 */
/* total.h - the sum of many float32s in one or two launches. */
#ifndef LIB_PLAN_REDUCE_TOTAL_H
#define LIB_PLAN_REDUCE_TOTAL_H

#include "lib/core/queue/plan.h"

/** Compute y[0] = (x[0] + .. + x[n - 1]) / (count divisor[0]). An absent
 *  divisor counts as 1. n > 0. At most 64 + n / 64 additions depend on each
 *  other. */
void plan_total(struct plan *p, const struct view *x, uint64_t n, float count,
                const struct view *divisor, const struct view *y);

/** Return a power of two to multiply n values by, such that their sum only
 *  overflows if their mean does. The mean is sum / (n * scale). */
float plan_scale(uint64_t n);

#endif
