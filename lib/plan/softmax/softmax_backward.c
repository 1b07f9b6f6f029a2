/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_backward.c - the plan of the gradients of softmax and log-softmax. */
#include "lib/core/queue/plan.h"

#include "kernels/softmax/softmax_backward_args.h"
#include "lib/op/softmax/softmax.h"
#include "lib/plan/reduce/reduce.h"
#include "lib/plan/rows.h"
#include "lib/plan/windows.h"

/* Loops of an element: seven over a block, and their ends, as in softmax.c. */
#define ROW_LOOPS 12

/* Return the parameters, which are the same in every phase except `phase`. */
static struct softmax_backward_args
softmax_backward_args_of(const struct softmax_backward_op *op,
                         const struct rows *r)
{
    struct softmax_backward_args a = {.rows = r->walked,
                                      .n = r->n,
                                      .y_step = rows_step(&op->y),
                                      .dy_step = rows_step(&op->dy),
                                      .dx_step = rows_step(&op->dx),
                                      .splits = r->splits,
                                      .part = r->part,
                                      .phase = SOFTMAX_WHOLE,
                                      .is_log = op->kind == SOFTMAX_LOG,
                                      .y_dtype = op->y.dtype,
                                      .dy_dtype = op->dy.dtype,
                                      .dx_dtype = op->dx.dtype};
    /* not used: these rows never use columns */
    uint32_t col;
    rows_shape(r, &op->y, &a.rank, a.size);
    rows_steps(r, &op->y, a.y_steps, &col);
    rows_steps(r, &op->dy, a.dy_steps, &col);
    rows_steps(r, &op->dx, a.dx_steps, &col);
    return a;
}

/* Record one pass over y and dy; `known` as in softmax.c. */
static void softmax_backward_launch(struct plan *p,
                                    const struct softmax_backward_op *op,
                                    const struct rows *r,
                                    const struct softmax_backward_args *a,
                                    const struct view *known,
                                    enum access access)
{
    plan_kernel(p, KERNEL_softmax_backward,
                KEYS((uint8_t)dtype_bytes(op->y.dtype),
                     (uint8_t)dtype_bytes(op->dy.dtype),
                     (uint8_t)dtype_bytes(op->dx.dtype)));
    plan_bind(p, &op->y, ACCESS_READ);
    plan_bind(p, &op->dy, ACCESS_READ);
    plan_bind(p, &op->dx, ACCESS_WRITE);
    plan_bind(p, known, access);
    rows_launch(p, r, a, sizeof(*a), ROW_LOOPS);
}

/* Record a window. Long rows are cut into parts, as in softmax.c. Parts only
 * have sums, which a plain reduction adds. Then a second pass over y and dy
 * computes dx. If a group has a whole row, one pass does both, and `part` is
 * absent. */
static void softmax_backward_window(struct plan *p, const struct op *some,
                                    void *whole)
{
    const struct softmax_backward_op *op =
        (const struct softmax_backward_op *)some;
    struct rows r = rows_window(whole, &op->y);
    struct softmax_backward_args a = softmax_backward_args_of(op, &r);
    struct view part = {.buffer = NULL}, known;
    if (r.splits == 1) {
        softmax_backward_launch(p, op, &r, &a, &part, ACCESS_READ);
        return;
    }
    plan_scratch(p, SSQ_F32, (uint64_t)r.walked * r.splits, &part);
    plan_scratch(p, SSQ_F32, r.walked, &known);
    a.phase = SOFTMAX_PARTS;
    softmax_backward_launch(p, op, &r, &a, &part, ACCESS_WRITE);
    plan_reduce_sums(p, &part, r.splits, &known);
    a.phase = SOFTMAX_APPLY;
    softmax_backward_launch(p, op, &r, &a, &known, ACCESS_READ);
}

static void softmax_backward_build(struct plan *p,
                                   const struct softmax_backward_op *op)
{
    struct rows r = rows_of(p, &op->y, ROWS_GROUPS);
    struct softmax_backward_op part = *op;
    const struct window_cut cut = {.walked = 7,
                                   .dims = plan_dims(op->y.rank - 1)};
    plan_windows(p, &part.op, &cut, softmax_backward_window, &r);
}

const struct softmax_backward_plan softmax_backward_plans[] = {
    {"portable", NULL, softmax_backward_build}, {NULL}};
