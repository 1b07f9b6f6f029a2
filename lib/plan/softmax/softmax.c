/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - the plan of softmax and log-softmax.
 *
 * A group processes a row, or a part of a long row. An item processes a row if
 * rows are short, or if their elements are further apart than the rows. */
#include "lib/core/queue/plan.h"

#include "kernels/softmax/softmax_args.h"
#include "lib/op/softmax/softmax.h"
#include "lib/plan/rows.h"
#include "lib/plan/windows.h"

/* Loops of an element. Columns: three passes. Rows: seven loops over a block,
 * and their ends, which the elements of a block share. */
#define COLUMN_LOOPS 3
#define ROW_LOOPS    12

/* Return the parameters, which are the same in every phase except `phase`. */
static struct softmax_args softmax_args_of(const struct softmax_op *op,
                                           const struct rows *r)
{
    const struct view *x = &op->x, *y = &op->y;
    struct softmax_args a = {.rows = r->walked,
                             .n = r->n,
                             .x_step = rows_step(x),
                             .y_step = rows_step(y),
                             .splits = r->splits,
                             .part = r->part,
                             .phase = SOFTMAX_WHOLE,
                             .is_log = op->kind == SOFTMAX_LOG,
                             .cols = r->cols};
    rows_shape(r, x, &a.rank, a.size);
    rows_steps(r, x, a.x_steps, &a.x_col);
    rows_steps(r, y, a.y_steps, &a.y_col);
    return a;
}

/* Record one pass over x. known: the phase SOFTMAX_PARTS writes a maximum and a
 * sum for each part. SOFTMAX_APPLY reads a maximum and a sum for each row.
 * Absent if rows are not divided. */
static void softmax_launch(struct plan *p, const struct softmax_op *op,
                           const struct rows *r, const struct softmax_args *a,
                           const struct view *known, enum access access)
{
    plan_kernel(p, r->columns ? KERNEL_softmax_columns : KERNEL_softmax_rows,
                KEYS((uint8_t)op->x.dtype, (uint8_t)op->y.dtype));
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    if (!r->columns)
        plan_bind(p, known, access);
    rows_launch(p, r, a, sizeof(*a), r->columns ? COLUMN_LOOPS : ROW_LOOPS);
}

/* Record a window. If rows are few and long, they are cut into parts, so that
 * the device is busy. First each part gets a maximum and a sum. Then these are
 * combined for each row. Then the results are computed. */
static void softmax_window(struct plan *p, const struct op *some, void *whole)
{
    const struct softmax_op *op = (const struct softmax_op *)some;
    struct rows r = rows_window(whole, &op->x);
    struct softmax_args a = softmax_args_of(op, &r);
    struct view part = {.buffer = NULL}, known;
    if (r.splits == 1) {
        softmax_launch(p, op, &r, &a, &part, ACCESS_READ);
        return;
    }
    struct softmax_fold_args f = {.rows = r.walked, .splits = r.splits};
    plan_scratch(p, SSQ_F32, 2 * (uint64_t)r.walked * r.splits, &part);
    plan_scratch(p, SSQ_F32, 2 * (uint64_t)r.walked, &known);
    a.phase = SOFTMAX_PARTS;
    softmax_launch(p, op, &r, &a, &part, ACCESS_WRITE);
    plan_kernel(p, KERNEL_softmax_fold, KEYS(0));
    plan_bind(p, &part, ACCESS_READ);
    plan_bind(p, &known, ACCESS_WRITE);
    plan_groups(p, &f, sizeof(f), f.rows,
                2 * (loops_shared(plan_limits(p), r.splits, 0) + LOOPS_TREE));
    a.phase = SOFTMAX_APPLY;
    softmax_launch(p, op, &r, &a, &known, ACCESS_READ);
}

static void softmax_build(struct plan *p, const struct softmax_op *op)
{
    struct rows r = rows_of(p, &op->x, ROWS_COLUMNS_TOO);
    struct softmax_op part = *op;
    const struct window_cut cut = {.walked = 3,
                                   .dims = plan_dims(op->x.rank - 1)};
    plan_windows(p, &part.op, &cut, softmax_window, &r);
}

const struct softmax_plan softmax_plans[] = {{"portable", NULL, softmax_build},
                                             {NULL}};
