/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - the plans of y = f(x), dx = dy f'(x) and y = x scale. */
#include "kernels/elementwise/unary_args.h"
#include "lib/op/elementwise/elementwise.h"
#include "lib/plan/runs.h"

/* Build a function of floats. Each operand is bound as 2-byte and as 4-byte
 * cells. Its dtype in `run` says which of the two the kernel reads. So one
 * variant serves all mixes of dtypes. */
static void build_function(struct plan *p, const struct unary_op *op,
                           const struct runs *r)
{
    struct unary_args a = {
        .run = runs_shape(r, op->kind), .alpha = op->alpha, .beta = op->beta};
    runs_steps(r, 0, a.x_steps);
    runs_steps(r, 1, a.y_steps);
    plan_kernel(p, KERNEL_unary, KEYS((uint8_t)op->kind));
    runs_bind(p, &op->x, ACCESS_READ, 2, 4);
    runs_bind(p, &op->y, ACCESS_WRITE, 2, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build a test such as isnan. Its result is u8 and has one binding. */
static void build_class(struct plan *p, const struct unary_op *op,
                        const struct runs *r)
{
    struct unary_class_args a = {.run = runs_shape(r, op->kind)};
    runs_steps(r, 0, a.x_steps);
    runs_steps(r, 1, a.y_steps);
    plan_kernel(p, KERNEL_unary_class, KEYS(0));
    runs_bind(p, &op->x, ACCESS_READ, 2, 4);
    plan_bind(p, &op->y, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build for u8 and i32: cells of 1 and of 4 bytes. The kernel computes in
 * words. Few functions are defined for integers, and one variant has all of
 * them. */
static void build_integer(struct plan *p, const struct unary_op *op,
                          const struct runs *r)
{
    struct unary_integer_args a = {.run = runs_shape(r, op->kind)};
    runs_steps(r, 0, a.x_steps);
    runs_steps(r, 1, a.y_steps);
    plan_kernel(p, KERNEL_unary_integer, KEYS(0));
    runs_bind(p, &op->x, ACCESS_READ, 1, 4);
    runs_bind(p, &op->y, ACCESS_WRITE, 1, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Choose one of the three kernels by the dtype of x and the kind. */
static void unary_build(struct plan *p, const struct unary_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->x, &op->y}, 2);
    if (!dtype_is_float(op->x.dtype))
        build_integer(p, op, &r);
    else if (unary_is_test(op->kind))
        build_class(p, op, &r);
    else
        build_function(p, op, &r);
}

/* Build a gradient. */
static void unary_backward_build(struct plan *p,
                                 const struct unary_backward_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->x, &op->dy, &op->dx}, 3);
    struct unary_backward_args a = {
        .run = runs_shape(&r, op->kind), .alpha = op->alpha, .beta = op->beta};
    runs_steps(&r, 0, a.x_steps);
    runs_steps(&r, 1, a.dy_steps);
    runs_steps(&r, 2, a.dx_steps);
    plan_kernel(p, KERNEL_unary_backward, KEYS((uint8_t)op->kind));
    runs_bind(p, &op->x, ACCESS_READ, 2, 4);
    runs_bind(p, &op->dy, ACCESS_READ, 2, 4);
    runs_bind(p, &op->dx, ACCESS_WRITE, 2, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build y = x scale. The factor on the device is optional. The kernel reads it
 * when it runs, so the host need not wait for it. */
static void scale_build(struct plan *p, const struct scale_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->x, &op->y}, 2);
    struct scale_args a = {.run = runs_shape(&r, 0),
                           .alpha = op->alpha,
                           .scaled = op->scale.buffer != NULL};
    runs_steps(&r, 0, a.x_steps);
    runs_steps(&r, 1, a.y_steps);
    plan_kernel(p, KERNEL_scale, KEYS(0));
    runs_bind(p, &op->x, ACCESS_READ, 2, 4);
    runs_bind(p, &op->y, ACCESS_WRITE, 2, 4);
    plan_bind(p, &op->scale, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

const struct unary_plan unary_plans[] = {{"portable", NULL, unary_build},
                                         {NULL}};
const struct unary_backward_plan unary_backward_plans[] = {
    {"portable", NULL, unary_backward_build}, {NULL}};
const struct scale_plan scale_plans[] = {{"portable", NULL, scale_build},
                                         {NULL}};
