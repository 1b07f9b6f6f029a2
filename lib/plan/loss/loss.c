/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - the plan of elementwise losses: values, gradients and partial sums,
 * then their sum. */
#include "lib/plan/floats.h"
#include "lib/plan/reduce/total.h"
#include "lib/plan/windows.h"

#include "kernels/loss/loss.h"
#include "kernels/loss/loss_args.h"
#include "lib/op/loss/loss.h"

/* Operands of the kernel, except its table. dloss is number 4, loss number
 * 6. */
#define OPERANDS 7

/* The operands that have x's shape, in the order of the kernel. */
struct operands {
    const struct view *v[OPERANDS];
};

/* Return true if v has one value for all elements: each dimension with more
 * than one element has stride 0. */
static bool constant(const struct view *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->shape[i] != 1 && v->stride[i] != 0)
            return false;
    return true;
}

/* Return true if all operands that are walked are contiguous, so that an
 * element has the same offset in each. A constant dloss is not walked. Neither
 * is loss, unless each element's loss is kept. */
static bool loss_even(const struct operands *o, const struct loss_args *a)
{
    for (int i = 0; i < OPERANDS; i++) {
        bool skipped = o->v[i]->buffer == NULL || (i == 4 && !a->dloss_each) ||
                       (i == 6 && a->values != LOSS_EACH);
        if (!skipped && !view_contiguous(o->v[i]))
            return false;
    }
    return true;
}

/* Write a table of sizes and steps, for operands that are not all dense: the
 * parameters have no room for seven. Absent operands have steps of 0; so does
 * loss if it is a sum. */
static void loss_steps(struct plan *p, const struct operands *o,
                       const struct loss_args *a, struct view *table)
{
    const struct view *x = o->v[0];
    uint32_t rank = (uint32_t)x->rank;
    uint32_t *w = plan_words(p, (uint64_t)rank * (OPERANDS + 1), table);
    if (w == NULL)
        return;
    for (uint32_t r = 0; r < rank; r++) {
        w[r] = (uint32_t)x->shape[r];
        for (uint32_t i = 0; i < OPERANDS; i++) {
            bool walks =
                o->v[i]->buffer != NULL && (i != 6 || a->values == LOSS_EACH);
            w[(i + 1) * rank + r] = walks ? (uint32_t)o->v[i]->stride[r] : 0;
        }
    }
}

/* Context of loss_window(), the same for all windows. */
struct loss_shared {
    struct loss_args a; /* window sets the fields that differ */
    struct view part;   /* the partial sums, if a sum is wanted */
};

/* Record the values and gradients of a window's elements. A task is a chunk. If
 * a sum is wanted, a group adds the values of a chunk, and loss is the partial
 * sums. */
static void loss_window(struct plan *p, const struct op *some, void *user)
{
    const struct loss_op *op = (const struct loss_op *)some;
    const struct loss_shared *s = user;
    struct loss_args args = s->a, *a = &args;
    struct view sums = s->part;
    const struct view *loss = a->values == LOSS_SUM ? &sums : &op->loss;
    const struct operands o = {{&op->x, &op->target, &op->weight,
                                &op->pos_weight, &op->dloss, &op->dx, loss}};
    a->n = (uint32_t)view_elements(&op->x);
    a->tasks = (uint32_t)size_div_up(a->n, LOSS_CHUNK);
    sums.offset += op->op.first / LOSS_CHUNK * sizeof(float);
    struct view table = {.dtype = SSQ_I32, .buffer = NULL};
    uint8_t d =
        FLOATS_KEY(&op->x, &op->target, &op->weight, &op->pos_weight, &op->dx);
    if (!loss_even(&o, a)) {
        a->rank = (uint32_t)op->x.rank;
        loss_steps(p, &o, a, &table);
    }
    plan_kernel(p, KERNEL_loss_elements, KEYS(op->kind == LOSS_BCE, d));
    for (int i = 0; i < 4; i++)
        floats_bind(p, o.v[i], d, ACCESS_READ);
    plan_bind(p, &op->dloss, ACCESS_READ);
    floats_bind(p, &op->dx, d, ACCESS_WRITE);
    plan_bind(p, loss, ACCESS_WRITE);
    plan_bind(p, &table, ACCESS_READ);
    plan_groups(p, a, sizeof(*a), a->tasks,
                LOOPS_FEW + loops_shared(plan_limits(p), LOSS_CHUNK,
                                         a->rank + 4 * LOOPS_DIVIDE));
}

/* Cut the elements in order, into whole chunks. Partial sums are then the same
 * as without a cut. Dimensions that all operands walk evenly are joined, so a
 * window may end within them. */
static void loss_windows(struct plan *p, const struct loss_op *op,
                         struct loss_shared *s)
{
    struct loss_op part = *op;
    struct view *v[OPERANDS] = {&part.x};
    int n = 1;
    bool each = s->a.values != LOSS_SUM;
    struct view *const all[] = {&part.target, &part.weight, &part.pos_weight,
                                &part.dloss,  &part.dx,     &part.loss};
    struct window_cut cut = {.walked = each ? 127 : 127 - 32,
                             .dims = ~0u,
                             .in_order = !each,
                             .chunk = each ? 0 : LOSS_CHUNK};
    for (int i = 0; i < OPERANDS - 1; i++)
        if (all[i]->buffer != NULL && (each || all[i] != &part.loss))
            v[n++] = all[i];
    views_collapse(v, n);
    plan_windows(p, &part.op, &cut, loss_window, s);
}

/* Build a loss. For a mean, losses are first multiplied by a power of two, so
 * their sum only overflows if the mean does. plan_total() divides by it
 * again. */
static void loss_build(struct plan *p, const struct loss_op *op)
{
    int64_t n = view_elements(&op->x);
    uint64_t tasks = (uint64_t)size_div_up(n, LOSS_CHUNK);
    float count = op->reduction == SSQ_REDUCTION_MEAN ? (float)n : 1.0f;
    bool given = op->dloss.buffer != NULL;
    struct loss_args a = {.kind = op->kind,
                          .x_dtype = view_dtype(&op->x),
                          .target_dtype = view_dtype(&op->target),
                          .weight_dtype = view_dtype(&op->weight),
                          .positive_dtype = view_dtype(&op->pos_weight),
                          .dx_dtype = view_dtype(&op->dx),
                          .dloss_given = given,
                          .dloss_each = given && !constant(&op->dloss),
                          .scale = 1.0f,
                          .parameter = op->parameter,
                          .count = count};
    const struct view none = {.dtype = SSQ_F32, .buffer = NULL};
    if (op->loss.buffer != NULL)
        a.values = op->reduction == SSQ_REDUCTION_NONE ? LOSS_EACH : LOSS_SUM;
    if (op->reduction == SSQ_REDUCTION_MEAN)
        a.scale = plan_scale((uint64_t)n);
    struct loss_shared s = {.a = a};
    if (a.values == LOSS_SUM)
        plan_scratch(p, SSQ_F32, tasks, &s.part);
    loss_windows(p, op, &s);
    if (a.values == LOSS_SUM)
        plan_total(p, &s.part, tasks, count * a.scale, &none, &op->loss);
}

const struct loss_plan loss_plans[] = {{"portable", NULL, loss_build}, {NULL}};
