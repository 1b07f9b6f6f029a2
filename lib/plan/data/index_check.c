/* SPDX-License-Identifier: Apache-2.0 */
/* index_check.c - the plan of index_check: chunks, then a fold over all
 * chunks. */
#include "lib/core/queue/plan.h"

#include "kernels/data/index_check_args.h"
#include "lib/core/base/size.h"
#include "lib/core/core.h"
#include "lib/plan/walk.h"

static void index_check_bind(struct plan *p, const struct index_check_op *op,
                             const struct view *parts, enum access access)
{
    plan_bind(p, &op->index, ACCESS_READ);
    plan_bind(p, parts, access);
    plan_bind(p, &op->record, ACCESS_UPDATE);
}

/* Build index_check. Up to two chunks are one task and one launch. */
static void index_check_build(struct plan *p, const struct index_check_op *op)
{
    const struct view *v = &op->index;
    struct view parts = {.dtype = SSQ_I32};
    struct index_check_args a = {.count = (uint32_t)view_elements(v),
                                 .chunk = INDEX_CHUNK,
                                 .n = (uint32_t)op->n,
                                 .may_ignore = op->ignore_index >= INT32_MIN &&
                                               op->ignore_index <= INT32_MAX,
                                 .ignore_index = (uint32_t)op->ignore_index};
    if (a.count <= 2 * INDEX_CHUNK)
        a.chunk = a.count;
    a.tasks = (uint32_t)size_div_up(a.count, a.chunk);
    walk_shape(v, 0, v->rank, &a.rank, a.size);
    walk_steps(v, 0, v->rank, a.steps);
    if (a.tasks > 1)
        plan_scratch(p, SSQ_I32, 2 * (uint64_t)a.tasks, &parts);
    plan_kernel(p, KERNEL_index_check, KEYS(0));
    index_check_bind(p, op, &parts, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.tasks,
                2 * LOOPS_FEW +
                    loops_shared(plan_limits(p), a.chunk, LOOPS_WALK));
    if (a.tasks == 1)
        return;
    plan_kernel(p, KERNEL_index_fold, KEYS(0));
    index_check_bind(p, op, &parts, ACCESS_READ);
    plan_groups(p, &a, sizeof(a), 1,
                2 * LOOPS_FEW + LOOPS_WALK +
                    loops_shared(plan_limits(p), a.tasks, 0));
}

const struct index_check_plan index_check_plans[] = {
    {"portable", NULL, index_check_build}, {NULL}};
