/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - reductions as steps of other plans. */
#ifndef LIB_PLAN_REDUCE_REDUCE_H
#define LIB_PLAN_REDUCE_REDUCE_H

#include "lib/op/reduce/reduce.h"
#include "lib/core/queue/plan.h"

/** Record the launches of a reduction. */
void plan_reduce(struct plan *p, const struct reduce_op *op);
/** Record the sums of each n adjacent elements of x. Both views are contiguous
 *  float32. */
void plan_reduce_sums(struct plan *p, const struct view *x, uint32_t n,
                      const struct view *sums);
/** Set *wide to a contiguous float32 view of x's values: x, or scratch. */
void plan_reduce_widen(struct plan *p, const struct view *x, struct view *wide);

#endif
