/* SPDX-License-Identifier: Apache-2.0 */
/* glu.c - the plans of y = a f(b) and db = dy a f'(b): one text. */
#include "kernels/elementwise/glu.h"
#include "lib/plan/runs.h"

/* Operands a, b, dy and the result; dy is any of the others where the text
 * does not read it. */
static void build(struct plan *p, uint32_t gate, uint8_t backward,
                  const struct view *const v[4])
{
    struct runs r;
    runs_init(&r, v, 4);
    struct glu_args a = {.run = runs_shape(&r, 0)};
    runs_steps(&r, 0, a.a_steps);
    runs_steps(&r, 1, a.b_steps);
    runs_steps(&r, 2, a.dy_steps);
    runs_steps(&r, 3, a.y_steps);
    plan_kernel(p, KERNEL_glu, KEYS((uint8_t)gate, backward));
    for (int k = 0; k < 4; k++)
        runs_bind(p, v[k], k < 3 ? ACCESS_READ : ACCESS_WRITE, 2, 4);
    plan_items(p, &a, sizeof(a), a.run.n, LOOPS_FEW);
}

static void glu_build(struct plan *p, const struct glu_op *op)
{
    build(p, op->gate, 0,
          (const struct view *[]){&op->a, &op->b, &op->b, &op->y});
}

static void glu_backward_build(struct plan *p, const struct glu_backward_op *op)
{
    build(p, op->gate, 1,
          (const struct view *[]){&op->a, &op->b, &op->dy, &op->db});
}

const struct glu_plan glu_plans[] = {{"portable", NULL, glu_build}, {NULL}};
const struct glu_backward_plan glu_backward_plans[] = {
    {"portable", NULL, glu_backward_build}, {NULL}};
