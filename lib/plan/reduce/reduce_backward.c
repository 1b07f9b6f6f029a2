/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward.c - the plans of the gradients of mean and max. */
#include "lib/core/queue/plan.h"

#include "kernels/reduce/reduce_backward_args.h"
#include "lib/op/reduce/reduce.h"
#include "lib/plan/walk.h"

/* Return the size of an element, as a key. */
static uint8_t reduce_backward_bytes(const struct view *v)
{
    return (uint8_t)dtype_bytes(v->dtype);
}

static void mean_backward(struct plan *p, const struct reduce_backward_op *op)
{
    const struct view *dy = &op->dy, *dx = &op->dx;
    struct mean_backward_args a = {.n = (uint32_t)view_elements(dx),
                                   .dy_dtype = dy->dtype,
                                   .dx_dtype = dx->dtype,
                                   .divisor = op->divisor};
    walk_shape(dx, 0, dx->rank, &a.rank, a.size);
    walk_steps(dy, 0, op->kept, a.dy_steps); /* and 0 along the others */
    walk_steps(dx, 0, dx->rank, a.dx_steps);
    plan_kernel(p, KERNEL_mean_backward,
                KEYS(reduce_backward_bytes(dy), reduce_backward_bytes(dx)));
    plan_bind(p, dy, ACCESS_READ);
    plan_bind(p, dx, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.n, LOOPS_FEW);
}

/* Count the elements that equal the maximum, for `rows` results over n
 * elements. */
static void ties(struct plan *p, const struct reduce_backward_op *op,
                 uint32_t rows, uint32_t n, const struct view *share)
{
    const struct view *x = &op->x;
    struct max_ties_args a = {
        .rows = rows, .n = n, .x_dtype = x->dtype, .dy_dtype = op->dy.dtype};
    walk_shape(x, 0, x->rank, &a.rank, a.size);
    walk_steps(x, 0, x->rank, a.x_steps);
    walk_steps(&op->y, 0, op->kept, a.y_steps);
    walk_steps(&op->dy, 0, op->kept, a.dy_steps);
    plan_kernel(p, KERNEL_max_ties,
                KEYS(reduce_backward_bytes(x), reduce_backward_bytes(&op->dy)));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_READ);
    plan_bind(p, &op->dy, ACCESS_READ);
    plan_bind(p, share, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), rows,
                LOOPS_FEW + loops_shared(plan_limits(p), n, LOOPS_WALK));
}

/* Build the gradient of max. All elements that equal the maximum share dy
 * evenly, so they are counted first. kernels/reduce/reduce_backward_args.h
 * describes the three words per result. */
static void max_backward(struct plan *p, const struct reduce_backward_op *op)
{
    const struct view *x = &op->x, *dx = &op->dx;
    struct view share;
    struct max_backward_args a = {
        .rows = 1, .n = 1, .x_dtype = x->dtype, .dx_dtype = dx->dtype};
    for (int i = 0; i < x->rank; i++)
        *(i < op->kept ? &a.rows : &a.n) *= (uint32_t)x->shape[i];
    plan_scratch(p, SSQ_F32, 3 * (uint64_t)a.rows, &share);
    ties(p, op, a.rows, a.n, &share);
    walk_shape(x, 0, x->rank, &a.rank, a.size);
    walk_steps(x, 0, x->rank, a.x_steps);
    walk_steps(dx, 0, dx->rank, a.dx_steps);
    plan_kernel(p, KERNEL_max_backward,
                KEYS(reduce_backward_bytes(x), reduce_backward_bytes(dx)));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, dx, ACCESS_WRITE);
    plan_bind(p, &share, ACCESS_READ);
    plan_items(p, &a, sizeof(a), (uint64_t)a.rows * a.n, LOOPS_FEW);
}

static void reduce_backward_build(struct plan *p,
                                  const struct reduce_backward_op *op)
{
    if (op->kind == REDUCE_MAX)
        max_backward(p, op);
    else
        mean_backward(p, op);
}

const struct reduce_backward_plan reduce_backward_plans[] = {
    {"portable", NULL, reduce_backward_build}, {NULL}};
