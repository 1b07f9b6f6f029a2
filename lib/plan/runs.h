/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - the operands of elementwise kernels: see kernels/dialect/runs.h. */
#ifndef LIB_PLAN_RUNS_H
#define LIB_PLAN_RUNS_H

#include "kernels/dialect/runs.h"
#include "lib/plan/plan.h"
#include "lib/plan/walk.h"

#define RUNS_OPERANDS 4

/** Operands that are walked together, in an order of dimensions that suits the
 *  last one, the output: they may be walked in any. */
struct runs {
    int n;
    struct view v[RUNS_OPERANDS];
};

void runs_init(struct runs *r, const struct view *const *v, int n);
/** What those kernels are told of all operands; kind is RUN_KIND. */
struct run_shape runs_shape(const struct runs *r, uint32_t kind);
/** The steps of operand k. */
void runs_steps(const struct runs *r, int k, uint32_t steps[RUN_RANK]);

/** Bind an operand once for each size of cells that it may be made of. */
void runs_bind(struct plan *p, const struct view *v, enum access access,
               uint32_t cell, uint32_t other);

#endif
