/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - the plans of y = f(a, b), comparisons, and where. */
#include "kernels/elementwise/binary_args.h"
#include "lib/op/elementwise/elementwise.h"
#include "lib/plan/runs.h"

/* Build for floats. An operand may have any float dtype and is bound as cells
 * of 2 and of 4 bytes. The steps have the order of runs_init(): a, b, y. */
static void build_floats(struct plan *p, const struct binary_op *op,
                         const struct runs *r)
{
    struct binary_args a = {
        .run = runs_shape(r, op->kind), .alpha = op->alpha, .beta = op->beta};
    runs_steps(r, 0, a.a_steps);
    runs_steps(r, 1, a.b_steps);
    runs_steps(r, 2, a.y_steps);
    plan_kernel(p, KERNEL_binary, KEYS((uint8_t)op->kind));
    runs_bind(p, &op->a, ACCESS_READ, 2, 4);
    runs_bind(p, &op->b, ACCESS_READ, 2, 4);
    runs_bind(p, &op->y, ACCESS_WRITE, 2, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build for u8 and i32: cells of 1 and of 4 bytes. */
static void build_integers(struct plan *p, const struct binary_op *op,
                           const struct runs *r)
{
    struct binary_integer_args a = {.run = runs_shape(r, op->kind)};
    runs_steps(r, 0, a.a_steps);
    runs_steps(r, 1, a.b_steps);
    runs_steps(r, 2, a.y_steps);
    plan_kernel(p, KERNEL_binary_integer, KEYS(0));
    runs_bind(p, &op->a, ACCESS_READ, 1, 4);
    runs_bind(p, &op->b, ACCESS_READ, 1, 4);
    runs_bind(p, &op->y, ACCESS_WRITE, 1, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build y = f(a, b). The op has checked that floats and integers are not mixed.
 * Integers have a separate kernel because float32 cannot represent every
 * i32. */
static void binary_build(struct plan *p, const struct binary_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->a, &op->b, &op->y}, 3);
    if (dtype_is_float(op->a.dtype))
        build_floats(p, op, &r);
    else
        build_integers(p, op, &r);
}

/* Bind v as cells of 1, 2 and 4 bytes: operands of compare and where may have
 * any dtype. */
static void bind_any(struct plan *p, const struct view *v, enum access access)
{
    plan_bind_as(p, v, 1, access);
    runs_bind(p, v, access, 2, 4);
}

/* Build a comparison. There is one variant: `run` contains the comparison and
 * the dtypes. y is u8. */
static void compare_build(struct plan *p, const struct compare_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->a, &op->b, &op->y}, 3);
    struct compare_args a = {.run = runs_shape(&r, op->kind)};
    runs_steps(&r, 0, a.a_steps);
    runs_steps(&r, 1, a.b_steps);
    runs_steps(&r, 2, a.y_steps);
    plan_kernel(p, KERNEL_compare, KEYS(0));
    bind_any(p, &op->a, ACCESS_READ);
    bind_any(p, &op->b, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build where. The result may also have any dtype; the chosen value is
 * converted. cond is u8 and has one binding. */
static void where_build(struct plan *p, const struct where_op *op)
{
    struct runs r;
    runs_init(&r, (const struct view *[]){&op->cond, &op->a, &op->b, &op->y},
              4);
    struct where_args a = {.run = runs_shape(&r, 0)};
    runs_steps(&r, 0, a.cond_steps);
    runs_steps(&r, 1, a.a_steps);
    runs_steps(&r, 2, a.b_steps);
    runs_steps(&r, 3, a.y_steps);
    plan_kernel(p, KERNEL_where, KEYS(0));
    plan_bind(p, &op->cond, ACCESS_READ);
    bind_any(p, &op->a, ACCESS_READ);
    bind_any(p, &op->b, ACCESS_READ);
    bind_any(p, &op->y, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

const struct binary_plan binary_plans[] = {{"portable", NULL, binary_build},
                                           {NULL}};
const struct compare_plan compare_plans[] = {{"portable", NULL, compare_build},
                                             {NULL}};
const struct where_plan where_plans[] = {{"portable", NULL, where_build},
                                         {NULL}};
