/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - the operands of elementwise kernels: see kernels/operands/runs.h. */
#ifndef LIB_PLAN_RUNS_H
#define LIB_PLAN_RUNS_H

#include "kernels/operands/runs.h"
#include "lib/core/queue/plan.h"
#include "lib/plan/walk.h"

#define RUNS_OPERANDS 4

/** Operands that a kernel processes together. The elements may be processed in
 *  any order, so the dimensions are sorted for the last operand, the output. */
struct runs {
    int n;
    struct view v[RUNS_OPERANDS];
};

void runs_init(struct runs *r, const struct view *const *v, int n);
/** Return the parameters that describe all operands; kind is RUN_KIND. */
struct run_shape runs_shape(const struct runs *r, uint32_t kind);
/** Get the steps of operand k. */
void runs_steps(const struct runs *r, int k, uint32_t steps[RUN_RANK]);

/** Bind an operand twice, as cells of both sizes that it may have. */
void runs_bind(struct plan *p, const struct view *v, enum access access,
               uint32_t cell, uint32_t other);

#endif
