/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - the plan of y = f(x). */
#include "lib/plan.h"

#include "kernels/unary_args.h"
#include "lib/op/elementwise.h"
#include "lib/walk.h"

struct unary_args {
    UNARY_FIELDS
};

static void build(struct plan *p, const struct unary_op *op)
{
    const struct view *x = &op->x, *y = &op->y;
    struct unary_args a = {.n = (uint32_t)view_elements(y),
                           .dense = view_contiguous(x) && view_contiguous(y),
                           .x_dtype = x->dtype,
                           .y_dtype = y->dtype,
                           .alpha = op->alpha,
                           .beta = op->beta,
                           .kind = op->kind};
    uint8_t xb = (uint8_t)dtype_bytes(x->dtype);
    uint8_t yb = (uint8_t)dtype_bytes(y->dtype);
    walk_shape(y, 0, y->rank, &a.rank, a.size);
    walk_steps(x, 0, y->rank, a.x_steps);
    walk_steps(y, 0, y->rank, a.y_steps);
    if (dtype_is_float(x->dtype))
        plan_kernel(p, KERNEL_unary, KEYS((uint8_t)op->kind, xb, yb));
    else
        plan_kernel(p, KERNEL_unary_integer, KEYS(xb, yb));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.n);
}

const struct unary_plan unary_plans[] = {{"portable", NULL, build}, {NULL}};
