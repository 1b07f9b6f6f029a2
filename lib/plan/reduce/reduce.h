/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - reductions as parts of other plans. */
#ifndef LIB_PLAN_REDUCE_REDUCE_H
#define LIB_PLAN_REDUCE_REDUCE_H

#include "lib/op/reduce/reduce.h"
#include "lib/plan/plan.h"

/** The launches of a reduction. */
void plan_reduce(struct plan *p, const struct reduce_op *op);
/** sums = those of each n neighbours in x; both contiguous f32. */
void plan_reduce_sums(struct plan *p, const struct view *x, uint32_t n,
                      const struct view *sums);
/** A view of float32s with x's values, contiguous: x itself or scratch. */
void plan_reduce_widen(struct plan *p, const struct view *x, struct view *wide);

#endif
