/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - the plan of top-k accuracy: rows, then their total. */
#include "lib/core/queue/plan.h"

#include "kernels/metrics/top_k_args.h"
#include "lib/op/metrics/metrics.h"
#include "lib/plan/walk.h"
#include "lib/plan/windows.h"

/* Rows up to this length are processed by an item, longer ones by a group. */
#define SHORT 64

/* Return the number of rows. A row is the last dimension, the classes. It may
 * be empty, so rows are counted by the other dimensions. */
static uint32_t metrics_rows_of(const struct view *x)
{
    int64_t rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        rows *= x->shape[i];
    return (uint32_t)rows; /* fewer than 2^31 */
}

/* Record a word for each row of a window: does it count, and is it a hit? An
 * ignore_index that is not an i32 equals no target. A k above 32 bits has the
 * same effect as all classes. */
static void metrics_window(struct plan *p, const struct op *some, void *user)
{
    const struct top_k_accuracy_op *op = (const struct top_k_accuracy_op *)some;
    const struct view *x = &op->x;
    struct view found = *(const struct view *)user;
    int last = x->rank - 1;
    struct top_k_args a = {.rows = metrics_rows_of(x),
                           .n = (uint32_t)x->shape[last],
                           .k = op->k > UINT32_MAX ? UINT32_MAX
                                                   : (uint32_t)op->k,
                           .x_step = (uint32_t)x->stride[last],
                           .x_dtype = (uint32_t)x->dtype,
                           .may_ignore = op->ignore_index >= INT32_MIN &&
                                         op->ignore_index <= INT32_MAX,
                           .ignore_index = (uint32_t)op->ignore_index};
    uint32_t bytes = (uint32_t)dtype_bytes(x->dtype);
    walk_shape(x, 0, last, &a.rank, a.size);
    walk_steps(x, 0, last, a.x_steps);
    walk_steps(&op->target, 0, last, a.target_steps);
    a.items = a.n <= SHORT;
    found.offset += op->op.first * sizeof(uint32_t);
    plan_kernel(p, KERNEL_top_k_rows, KEYS((uint8_t)bytes));
    /* without classes x has no memory, and is not read */
    plan_bind_as(p, a.n == 0 ? &op->target : x, bytes, ACCESS_READ);
    plan_bind(p, &op->target, ACCESS_READ);
    plan_bind(p, &found, ACCESS_WRITE);
    if (a.items)
        plan_items(p, &a, sizeof(a), a.rows, LOOPS_WALK + loops_of(a.n, 0));
    else
        plan_groups(p, &a, sizeof(a), a.rows,
                    LOOPS_FEW + loops_shared(plan_limits(p), a.n, 0));
}

/* Build top-k accuracy. One group adds the words of all rows, because the
 * accuracy is a quotient of two totals. accuracy and hits are optional. */
static void metrics_build(struct plan *p, const struct top_k_accuracy_op *op)
{
    struct view found;
    struct top_k_accuracy_op part = *op;
    const struct window_cut cut = {
        .walked = 3, .dims = plan_dims(op->x.rank - 1), .in_order = true};
    struct top_k_total_args a = {.rows = metrics_rows_of(&op->x),
                                 .accuracy_given = op->accuracy.buffer != NULL,
                                 .hits_given = op->hits.buffer != NULL};
    plan_scratch(p, SSQ_I32, a.rows, &found);
    plan_windows(p, &part.op, &cut, metrics_window, &found);
    plan_kernel(p, KERNEL_top_k_total, KEYS(0));
    plan_bind(p, &found, ACCESS_READ);
    plan_bind(p, &op->accuracy, ACCESS_WRITE);
    plan_bind(p, &op->hits, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), 1,
                2 * LOOPS_FEW + loops_shared(plan_limits(p), a.rows, 0));
}

const struct top_k_accuracy_plan top_k_accuracy_plans[] = {
    {"portable", NULL, metrics_build}, {NULL}};
