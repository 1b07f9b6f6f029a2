/* SPDX-License-Identifier: Apache-2.0 */
/* argmax.c - the plan of argmax and argmin. */
#include "lib/core/queue/plan.h"

#include "kernels/reduce/argmax_args.h"
#include "lib/op/reduce/reduce.h"
#include "lib/plan/rows.h"
#include "lib/plan/walk.h"

/* Find the best of the parts of each row. */
static void plan_argmax_fold(struct plan *p, const struct argmax_op *op,
                             const struct rows *r, const struct view *found)
{
    struct argmax_fold_args f = {
        .rows = r->walked, .splits = r->splits, .last = op->last};
    walk_shape(&op->x, 0, op->kept, &f.rank, f.size);
    walk_steps(&op->y, 0, op->kept, f.y_steps);
    plan_kernel(p, KERNEL_argmax_fold, KEYS(0));
    plan_bind(p, found, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    plan_items(p, &f, sizeof(f), f.rows, LOOPS_WALK + loops_of(f.splits, 0));
}

/* Build argmax. If rows are few and long, they are cut into parts. The result
 * of each part is two words in scratch. */
static void argmax_build(struct plan *p, const struct argmax_op *op)
{
    struct view x = op->x, found = {.buffer = NULL};
    if (x.rank == op->kept) { /* results of one element */
        x.shape[x.rank] = 1;
        x.stride[x.rank++] = 1;
    }
    struct rows r = rows_of(p, &x, ROWS_GROUPS);
    struct argmax_args a = {.rows = r.walked,
                            .n = r.n,
                            .step = rows_step(&x),
                            .splits = r.splits,
                            .part = r.part,
                            .minimum = op->minimum,
                            .last = op->last,
                            .x_dtype = x.dtype};
    walk_shape(&x, 0, op->kept, &a.rank, a.size);
    walk_steps(&x, 0, op->kept, a.x_steps);
    walk_steps(&op->y, 0, op->kept, a.y_steps);
    if (r.splits > 1)
        plan_scratch(p, SSQ_I32, 2 * (uint64_t)r.walked * r.splits, &found);
    plan_kernel(p, KERNEL_argmax, KEYS((uint8_t)dtype_bytes(x.dtype)));
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    plan_bind(p, &found, r.splits > 1 ? ACCESS_WRITE : ACCESS_READ);
    rows_launch(p, &r, &a, sizeof(a), 1);
    if (r.splits > 1)
        plan_argmax_fold(p, op, &r, &found);
}

const struct argmax_plan argmax_plans[] = {{"portable", NULL, argmax_build},
                                           {NULL}};
