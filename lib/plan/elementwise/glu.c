/* SPDX-License-Identifier: Apache-2.0 */
/* glu.c - the plans of y = a f(b) and db = dy a f'(b), which share a kernel. */
#include "kernels/elementwise/glu.h"
#include "lib/plan/runs.h"

/* Build from n operands: a, b, the result and, for the gradient, dy. dy is last
 * so that both directions have the first three in common. */
static void plan_glu_build(struct plan *p, uint32_t gate,
                           const struct view *const v[4], int n)
{
    struct runs r;
    runs_init(&r, v, n);
    struct glu_args a = {.run = runs_shape(&r, 0)};
    runs_steps(&r, 0, a.a_steps);
    runs_steps(&r, 1, a.b_steps);
    runs_steps(&r, 2, a.y_steps);
    if (n == 4)
        runs_steps(&r, 3, a.dy_steps);
    plan_kernel(p, KERNEL_glu, KEYS((uint8_t)glu_function(gate), n == 4));
    for (int k = 0; k < n; k++)
        runs_bind(p, v[k], k == 2 ? ACCESS_WRITE : ACCESS_READ, 2, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

/* Build the forward pass. It has no dy and no binding for it. */
static void glu_build(struct plan *p, const struct glu_op *op)
{
    plan_glu_build(p, op->gate,
                   (const struct view *[]){&op->a, &op->b, &op->y, NULL}, 3);
}

/* Build the gradient of b. The gradient of a is the forward op of dy and b; the
 * public function enqueues it. */
static void glu_backward_build(struct plan *p, const struct glu_backward_op *op)
{
    plan_glu_build(p, op->gate,
                   (const struct view *[]){&op->a, &op->b, &op->db, &op->dy},
                   4);
}

const struct glu_plan glu_plans[] = {{"portable", NULL, glu_build}, {NULL}};
const struct glu_backward_plan glu_backward_plans[] = {
    {"portable", NULL, glu_backward_build}, {NULL}};
