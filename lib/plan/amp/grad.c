/* SPDX-License-Identifier: Apache-2.0 */
/* grad.c - the plan of the gradient check: one pass, then a fold. */
#include "lib/plan/amp/amp_list.h"

#include "kernels/amp/grad_args.h"
#include "kernels/reduce/norm.h"
#include "lib/amp/common/check.h"

static void grad_gradient(const void *op, size_t i, struct amp_entry *row)
{
    const struct view *g = &((const struct check_op *)op)->op.list->v[i];
    row->view[0] = g;
    row->key = g->dtype;
}

/* The partials of a check, n of them: scratch, or the partials of all ranks. */
struct partials {
    struct view view;
    uint32_t n;
};

/* Record the pass. Each task writes a partial of PART_WORDS words. */
static void grad_look(struct plan *p, const struct check_op *op,
                      const struct entries *r, const struct partials *parts)
{
    for (size_t k = 0; k < r->n; k++) {
        const struct entry_launch *b = &r->launch[k];
        struct grad_check_args a = {.list = entries_table(r, b),
                                    .parts = parts->n,
                                    .dtype = b->key,
                                    .controlled = op->control.buffer != NULL,
                                    .scaled = op->block.buffer != NULL,
                                    .factor = op->factor};
        plan_kernel(p, KERNEL_grad_check, KEYS((uint8_t)b->at[0].unit));
        plan_bind(p, &b->table, ACCESS_READ);
        plan_bind(p, &op->control, ACCESS_READ);
        plan_bind(p, &op->block, ACCESS_READ);
        plan_bind(p, &parts->view, ACCESS_WRITE);
        entries_bind(r, b, 0, ACCESS_READ);
        plan_groups(p, &a, sizeof(a), b->tasks,
                    entries_norm_loops(p, LOOPS_WALK));
    }
}

/* Record the fold. One group computes the record. If statistics are wanted, one
 * more group per tensor computes them. An empty list is folded too: such a
 * check counts, and finds nothing. */
static void plan_grad_fold(struct plan *p, const struct check_op *op,
                           const struct entries *r,
                           const struct partials *parts)
{
    struct grad_fold_args a = {.parts = r->parts,
                               .tensors =
                                   op->stats.buffer == NULL ? 0 : r->tensors,
                               .controlled = op->control.buffer != NULL,
                               .labelled = op->labels.buffer != NULL};
    struct view tensors;
    entries_tensors(r, &tensors);
    plan_kernel(p, KERNEL_grad_fold, KEYS(0));
    plan_bind(p, &parts->view, ACCESS_READ);
    plan_bind(p, &tensors, ACCESS_READ);
    plan_bind(p, &op->control, ACCESS_READ);
    plan_bind(p, &op->record, ACCESS_UPDATE);
    plan_bind(p, &op->stats, ACCESS_UPDATE);
    plan_bind(p, &op->labels, ACCESS_READ);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.tensors + 1,
                LOOPS_FEW + entries_loops(p, r->parts, 0) +
                    loops_of(plan_limits(p)->group, 0) +
                    rows_fold_loops(p, r->parts));
}

static void grad_build(struct plan *p, const struct check_op *op)
{
    struct entries r;
    struct partials parts = {.view = op->parts};
    bool shared = op->parts.buffer != NULL;
    if (!entries_divide_from(&r, p, op, op->op.list->n, 1, FOLD_CHUNK,
                             grad_gradient, op->first))
        return;
    if (shared) {
        parts.n = (uint32_t)(view_elements(&op->parts) / PART_WORDS);
    } else {
        parts.n = r.parts;
        plan_scratch(p, SSQ_I32, /* scratch must not be empty */
                     PART_WORDS * (r.parts == 0 ? 1 : (uint64_t)r.parts),
                     &parts.view);
    }
    if (!shared || op->record.buffer == NULL)
        grad_look(p, op, &r, &parts);
    if (op->record.buffer != NULL)
        plan_grad_fold(p, op, &r, &parts);
    entries_free(&r);
}

const struct check_plan check_plans[] = {{"portable", NULL, grad_build},
                                         {NULL}};
