/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward.c - the plan of the gradients of attention.
 *
 * It computes a correction of each saved lse, then delta. Then each wanted
 * gradient is one launch. */
#include "lib/plan/attention/attention.h"

_Static_assert(sizeof(struct attention_gradient_args) <= LAUNCH_WORDS * 4,
               "more words than a launch has");

/* MODE of attention_gradient.k */
enum mode { MODE_DQ, MODE_DK, MODE_DV };

/* Compute delta of each query, the sum of dy * y over its elements. It is
 * subtracted from all slopes of a row. One group computes the sum of one
 * query. */
static void make_delta(struct plan *p, const struct attention_backward_op *op,
                       struct view *delta)
{
    const struct attention_params *n = &op->p;
    struct attention_delta_args a = {
        .n = (uint32_t)(n->batch * n->heads * n->tq),
        .heads = (uint32_t)n->heads,
        .tq = (uint32_t)n->tq,
        .dv = (uint32_t)n->dv,
        .y_dtype = op->y.dtype,
        .dy_dtype = op->dy.dtype};
    attention_steps(&op->y, a.y_step);
    attention_steps(&op->dy, a.dy_step);
    plan_scratch(p, SSQ_F32, a.n, delta);
    plan_kernel(p, KERNEL_attention_delta, KEYS(0));
    plan_bind(p, delta, ACCESS_WRITE);
    attention_bind_both(p, &op->y, ACCESS_READ);
    attention_bind_both(p, &op->dy, ACCESS_READ);
    plan_groups(p, &a, sizeof(a), a.n,
                LOOPS_FEW + loops_shared(plan_limits(p), a.dv, 0));
}

/* Compute pairs of lse and its correction. Only queries with a large lse need a
 * pass over the keys: see kernels/attention/saved.h. */
static void make_saved(struct plan *p, const struct attention_backward_op *op,
                       struct view *saved)
{
    const struct attention_params *n = &op->p;
    uint64_t heads = (uint64_t)(n->batch * n->heads);
    struct attention_rest_args a;
    attention_set(&a.both, n, &op->q, &op->k, &op->v, &op->mask, &op->lse,
                  &op->step);
    uint8_t chunk = attention_divide(&a.both, plan_limits(p)->group, heads,
                                     n->tq, ATTENTION_COLS);
    plan_scratch(p, SSQ_F32, 2 * heads * (uint64_t)n->tq, saved);
    plan_kernel(p, KERNEL_attention_rest, KEYS(0));
    plan_bind(p, saved, ACCESS_WRITE);
    plan_bind(p, &op->lse, ACCESS_READ);
    attention_bind_both(p, &op->q, ACCESS_READ);
    attention_bind_both(p, &op->k, ACCESS_READ);
    attention_bind_mask(p, &op->mask);
    plan_groups(
        p, &a, sizeof(a), a.both.tasks,
        attention_loops(plan_limits(p), &a.both, a.both.tk, false, chunk));
}

/* Compute one gradient. Rows are queries for dq, and keys for dk and dv. A head
 * of keys may serve a group of query heads. Its task then processes all of
 * them, so that no sum over tasks is needed. dv needs neither delta nor v. */
static void make_gradient(struct plan *p,
                          const struct attention_backward_op *op,
                          enum mode mode, const struct view *y,
                          const struct view *saved, const struct view *delta)
{
    const struct attention_params *n = &op->p;
    struct attention_shared shared;
    if (y->buffer == NULL)
        return;
    attention_set(&shared, n, &op->q, &op->k, &op->v, &op->mask, &op->lse,
                  &op->step);
    uint64_t heads = (uint64_t)(mode == MODE_DQ ? n->heads : n->kv_heads);
    uint8_t chunk = attention_divide(
        &shared, plan_limits(p)->group, (uint64_t)n->batch * heads,
        mode == MODE_DQ ? n->tq : n->tk, mode == MODE_DV ? n->dv : n->d);
    struct attention_gradient_args a = {
        .both = shared, .dy_dtype = op->dy.dtype, .y_dtype = y->dtype};
    attention_steps(&op->dy, a.dy_step);
    attention_steps(y, a.y_step);
    plan_kernel(p, KERNEL_attention_gradient, KEYS((uint8_t)mode, chunk));
    plan_bind(p, saved, ACCESS_READ);
    attention_bind_both(p, &op->q, ACCESS_READ);
    attention_bind_both(p, &op->k, ACCESS_READ);
    attention_bind_mask(p, &op->mask);
    plan_bind(p, &op->step, ACCESS_READ);
    attention_bind_both(p, &op->dy, ACCESS_READ);
    attention_bind_both(p, y, ACCESS_WRITE);
    if (mode != MODE_DV) {
        plan_bind(p, delta, ACCESS_READ);
        attention_bind_both(p, &op->v, ACCESS_READ);
    }
    uint64_t head = attention_loops(plan_limits(p), &shared,
                                    mode == MODE_DQ ? a.both.tk : a.both.tq,
                                    mode != MODE_DV, chunk);
    plan_groups(p, &a, sizeof(a), a.both.tasks,
                mode == MODE_DQ ? head : loops_of(a.both.group, head));
}

/* Compute the gradients of a window. Each launch computes the scores again: a
 * matrix of all scores would have tq * tk elements per head. */
static void attention_backward_window(struct plan *p, const struct op *some,
                                      void *user)
{
    struct attention_backward_op part =
        *(const struct attention_backward_op *)some;
    const struct attention_backward_op *op = &part;
    struct view saved, delta = {.buffer = NULL};
    (void)user;
    attention_window(&part.p, &part.lse, part.op.first);
    make_saved(p, op, &saved);
    if (op->dq.buffer != NULL || op->dk.buffer != NULL)
        make_delta(p, op, &delta);
    make_gradient(p, op, MODE_DQ, &op->dq, &saved, &delta);
    make_gradient(p, op, MODE_DK, &op->dk, &saved, &delta);
    make_gradient(p, op, MODE_DV, &op->dv, &saved, &delta);
}

static void attention_backward_build(struct plan *p,
                                     const struct attention_backward_op *op)
{
    struct attention_backward_op part = *op;
    const struct window_cut cut = attention_cut(&op->p, 0x7ef);
    plan_windows(p, &part.op, &cut, attention_backward_window, NULL);
}

const struct attention_backward_plan attention_backward_plans[] = {
    {"portable", NULL, attention_backward_build}, {NULL}};
