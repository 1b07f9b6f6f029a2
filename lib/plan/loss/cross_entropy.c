/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - the plan of cross-entropy.
 *
 * For a mean it first computes the weights of the rows that count. Then each
 * row's loss is written to scratch. At last the losses are added. */
#include "lib/plan/floats.h"
#include "lib/plan/reduce/total.h"
#include "lib/plan/windows.h"

#include "kernels/loss/cross_entropy_args.h"
#include "kernels/loss/cross_entropy_count_args.h"
#include "lib/op/loss/loss.h"

/* Rows up to this length are processed by an item, longer ones by a group. */
#define SHORT 64

/* The operands that are walked by rows. The table has the steps of each. */
#define OPERANDS 6

/* Properties of the rows, known before any launch. */
struct plan_cross_entropy_rows {
    const struct view *shape;       /* of all operands, classes last */
    const struct view *v[OPERANDS]; /* in the order of the table */
    struct view table;              /* absent if row_step() suffices */
    uint32_t n, rows, rank;
};

/* Return the step between rows, if they are at most one dimension (rank 0);
 * otherwise 0. */
static uint32_t row_step(const struct plan_cross_entropy_rows *r,
                         const struct view *v)
{
    if (view_absent(v) || r->rank > 0 || v->rank < 2)
        return 0;
    return (uint32_t)v->stride[v->rank - 2];
}

/* Return the step between classes, in elements. */
static uint32_t class_step(const struct view *v)
{
    return view_step(v, v->rank - 1);
}

/* Return an operand with one element per row, which exists without classes
 * too. */
static struct view of_rows(const struct plan_cross_entropy_rows *r,
                           const struct view *v)
{
    struct view seen = *v;
    if (r->n == 0 && v->rank > 0)
        seen.shape[v->rank - 1] = 1;
    return seen;
}

/* Write the table. If rows have several dimensions, the parameters have no room
 * for the strides of six operands. The table has rank words for the sizes, and
 * rank words for the steps of each operand. */
static void tabulate(struct plan *p, struct plan_cross_entropy_rows *r)
{
    uint32_t *w = plan_words(p, (uint64_t)r->rank * (OPERANDS + 1), &r->table);
    for (uint32_t d = 0; w != NULL && d < r->rank; d++) {
        w[d] = (uint32_t)r->shape->shape[d];
        for (uint32_t i = 0; i < OPERANDS; i++)
            w[(i + 1) * r->rank + d] =
                view_absent(r->v[i]) ? 0 : (uint32_t)r->v[i]->stride[d];
    }
}

static int64_t count_rows(const struct cross_entropy_op *op)
{
    int64_t n = 1;
    for (int i = 0; i < op->x.rank - 1; i++)
        n *= op->x.shape[i];
    return n;
}

/* Return the properties of the rows; loss has one element per row. If x has
 * more than two dimensions, the steps are in the table. */
static struct plan_cross_entropy_rows
plan_cross_entropy_rows_of(struct plan *p, const struct cross_entropy_op *op,
                           const struct view *loss)
{
    struct plan_cross_entropy_rows r = {
        .shape = &op->x,
        .v = {&op->x, &op->target, &op->prob, &op->dloss, &op->dx, loss},
        .table = {.dtype = SSQ_I32},
        .n = (uint32_t)op->x.shape[op->x.rank - 1],
        .rows = (uint32_t)size_least(count_rows(op), UINT32_MAX)};
    if (op->x.rank > 2) {
        r.rank = (uint32_t)op->x.rank - 1;
        tabulate(p, &r);
    }
    return r;
}

/* Return true if a target can equal ignore_index: targets are i32. */
static bool may_ignore(const struct cross_entropy_op *op)
{
    return op->ignore_index >= INT32_MIN && op->ignore_index <= INT32_MAX;
}

/* Compute the sum of the weights of the rows that count, the divisor of the
 * mean: first sums of chunks of rows, then their total. */
static void plan_cross_entropy_count(struct plan *p,
                                     const struct cross_entropy_op *op,
                                     const struct plan_cross_entropy_rows *r,
                                     struct view *divisor)
{
    struct view part;
    struct cross_entropy_count_args a = {
        .tasks = (uint32_t)size_div_up(r->rows, ROW_CHUNK),
        .rows = r->rows,
        .n = r->n,
        .rank = r->rank,
        .target_row = row_step(r, &op->target),
        .weight_step = class_step(&op->weight),
        .weight_dtype = view_dtype(&op->weight),
        .may_ignore = may_ignore(op),
        .ignore_index = (uint32_t)op->ignore_index};
    const struct view none = {.dtype = SSQ_F32};
    plan_scratch(p, SSQ_F32, a.tasks, &part);
    plan_scratch(p, SSQ_F32, 1, divisor);
    plan_kernel(p, KERNEL_cross_entropy_count, KEYS(0));
    const struct view target = of_rows(r, &op->target);
    plan_bind(p, &target, ACCESS_READ);
    plan_bind_as(p, &op->weight, 2, ACCESS_READ);
    plan_bind(p, &r->table, ACCESS_READ);
    plan_bind(p, &part, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.tasks,
                LOOPS_FEW + loops_shared(plan_limits(p), ROW_CHUNK,
                                         loops_of(a.rank, 0)));
    plan_total(p, &part, a.tasks, 1.0f, &none, divisor);
}

/* Set the fields that do not depend on the reduction; window sets the others.
 */
static struct cross_entropy_args
cross_entropy_args_of(const struct cross_entropy_op *op,
                      const struct plan_cross_entropy_rows *r)
{
    return (struct cross_entropy_args){
        .rows = r->rows,
        .n = r->n,
        .rank = r->rank,
        .x_row = row_step(r, &op->x),
        .target_row = row_step(r, &op->target),
        .prob_row = row_step(r, &op->prob),
        .dloss_row = row_step(r, &op->dloss),
        .dx_row = row_step(r, &op->dx),
        .loss_row = row_step(r, r->v[OPERANDS - 1]),
        .x_step = class_step(&op->x),
        .prob_step = class_step(&op->prob),
        .weight_step = class_step(&op->weight),
        .dx_step = class_step(&op->dx),
        .x_dtype = view_dtype(&op->x),
        .target_dtype = view_dtype(&op->target),
        .prob_dtype = view_dtype(&op->prob),
        .weight_dtype = view_dtype(&op->weight),
        .dloss_dtype = view_dtype(&op->dloss),
        .dx_dtype = r->n == 0 ? 0 : view_dtype(&op->dx),
        .loss_dtype = view_dtype(r->v[OPERANDS - 1]),
        .logits = op->kind == CROSS_ENTROPY_LOGITS,
        .smoothed = op->smooth,
        .may_ignore = may_ignore(op),
        .ignore_index = (uint32_t)op->ignore_index,
        .keep = op->keep,
        .spread = op->spread};
}

/* Loops of a class: four passes and a quotient. */
#define ROW_LOOPS (4 + LOOPS_DIVIDE)

/* Context of cross_entropy_window(), the same for all windows. */
struct cross_entropy_shared {
    struct cross_entropy_args a; /* window sets the fields that differ */
    const struct view *divisor;
    bool items;
};

/* Return true if items should process whole rows: short ones, or rows that are
 * adjacent in memory, so that the items of a group read adjacent elements.
 * Otherwise a group shares each row. */
static bool by_items(const struct view *x,
                     const struct plan_cross_entropy_rows *r)
{
    bool rows_near = x->rank > 1 && x->stride[x->rank - 2] == 1 && r->rows > 1;
    return r->n <= SHORT || (rows_near && x->stride[x->rank - 1] != 1);
}

/* Record the losses and gradients of a window's rows; loss has one element per
 * row. */
static void cross_entropy_window(struct plan *p, const struct op *some,
                                 void *user)
{
    const struct cross_entropy_op *op = (const struct cross_entropy_op *)some;
    const struct cross_entropy_shared *s = user;
    const struct plan_cross_entropy_rows r =
        plan_cross_entropy_rows_of(p, op, &op->loss);
    struct cross_entropy_args a = cross_entropy_args_of(op, &r);
    uint8_t d = FLOATS_KEY(&op->x, &op->prob, &op->weight, &op->dx);
    const struct view loss = of_rows(&r, &op->loss);
    const struct view target = of_rows(&r, &op->target);
    const struct view dloss = of_rows(&r, &op->dloss);
    uint64_t row = loops_of(r.rank, 0) + 6 * LOOPS_FEW;
    a.count = s->a.count;
    a.scale = s->a.scale;
    a.divisor_dtype = s->a.divisor_dtype;
    plan_kernel(
        p, s->items ? KERNEL_cross_entropy_items : KERNEL_cross_entropy_rows,
        KEYS(d));
    /* without classes x has no memory, and is not read */
    floats_bind(p, r.n == 0 ? &loss : &op->x, d, ACCESS_READ);
    plan_bind(p, &target, ACCESS_READ);
    floats_bind(p, &op->prob, d, ACCESS_READ);
    floats_bind(p, &op->weight, d, ACCESS_READ);
    plan_bind(p, &dloss, ACCESS_READ);
    plan_bind(p, s->divisor, ACCESS_READ);
    floats_bind(p, &op->dx, d, ACCESS_WRITE);
    plan_bind(p, &loss, ACCESS_WRITE);
    plan_bind(p, &r.table, ACCESS_READ);
    if (s->items)
        plan_items(p, &a, sizeof(a), r.rows, row + loops_of(r.n, ROW_LOOPS));
    else
        plan_groups(p, &a, sizeof(a), r.rows,
                    row + loops_shared(plan_limits(p), r.n, ROW_LOOPS));
}

/* Return scratch for the loss of each row, in the shape of the rows. */
static struct view losses(struct plan *p, const struct cross_entropy_op *op)
{
    struct view v = op->x, flat;
    int64_t step = 1;
    v.stride[v.rank - 1] = 0;
    for (int i = v.rank - 2; i >= 0; i--) {
        v.stride[i] = step;
        step *= v.shape[i];
    }
    plan_scratch(p, SSQ_F32, (uint64_t)step, &flat);
    v.buffer = flat.buffer;
    v.offset = 0;
    v.dtype = SSQ_F32;
    return v;
}

/* Build cross-entropy. With targets, a mean is divided by the sum of the
 * weights of the rows that count, which only the device knows. With
 * probabilities it is divided by the number of rows.
 *
 * For a mean, losses are first multiplied by a power of two. So their sum only
 * overflows if the mean does. */
static void cross_entropy_build(struct plan *p,
                                const struct cross_entropy_op *op)
{
    bool mean = op->reduction == SSQ_REDUCTION_MEAN;
    bool each = op->reduction == SSQ_REDUCTION_NONE;
    bool wanted = !view_absent(&op->loss);
    struct cross_entropy_op part = *op;
    struct view divisor = {.dtype = SSQ_F32};
    /* rows without weight: x, target, prob, dloss, loss and dx */
    const struct window_cut cut = {.walked = 0x77,
                                   .dims = plan_dims(op->x.rank - 1)};
    if (wanted && !each)
        part.loss = losses(p, op);
    struct plan_cross_entropy_rows r =
        plan_cross_entropy_rows_of(p, op, &part.loss);
    struct cross_entropy_shared s = {.a = {.count = 1.0f, .scale = 1.0f},
                                     .divisor = &divisor,
                                     .items = by_items(&op->x, &r)};
    if (r.n == 0 && !wanted)
        return;
    if (mean && view_absent(&op->prob))
        plan_cross_entropy_count(p, op, &r, &divisor);
    else if (mean)
        s.a.count = r.n > 0 ? (float)r.rows : 0.0f;
    if (mean)
        s.a.scale = plan_scale(r.rows);
    s.a.divisor_dtype = view_dtype(&divisor);
    plan_windows(p, &part.op, &cut, cross_entropy_window, &s);
    if (wanted && !each)
        plan_total(p, &part.loss, r.rows, s.a.count * s.a.scale, &divisor,
                   &op->loss);
}

const struct cross_entropy_plan cross_entropy_plans[] = {
    {"portable", NULL, cross_entropy_build}, {NULL}};
