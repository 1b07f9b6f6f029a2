/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - the plan of the L2 norm: partials of chunks, which are folded until
 * one is left. */
#include "lib/core/queue/plan.h"

#include "kernels/reduce/norm.h"
#include "kernels/reduce/norm_args.h"
#include "lib/op/reduce/reduce.h"
#include "lib/plan/walk.h"

/* Loops of a chunk: FOLD_LANES elements at a time, by items with up to four
 * lanes. */
#define FOLD_LOOPS                                                             \
    (LOOPS_FEW + loops_of(FOLD_CHUNK / FOLD_LANES, 4 * LOOPS_WALK))

static uint32_t chunks_of(uint64_t n)
{
    return (uint32_t)size_div_up(n, FOLD_CHUNK);
}

static uint32_t chunks_of_view(const struct view *x)
{
    return chunks_of((uint64_t)view_elements(x));
}

/* Compute the partials of x, or of a piece of it, beginning at number `first`.
 * A partial is three sums, one for each class of magnitudes of
 * kernels/reduce/norm.h. The sums of a class are adjacent, `total` of them. */
static void chunks(struct plan *p, const struct view *x, const struct view *out,
                   uint32_t first, uint32_t total)
{
    struct norm_args a = {.n = (uint32_t)view_elements(x),
                          .first = first,
                          .total = total,
                          .dense = view_contiguous(x),
                          .x_dtype = x->dtype};
    walk_shape(x, 0, x->rank, &a.rank, a.size);
    walk_steps(x, 0, x->rank, a.x_steps);
    plan_kernel(p, KERNEL_norm_chunks, KEYS((uint8_t)dtype_bytes(x->dtype)));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, out, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), chunks_of(a.n), FOLD_LOOPS);
}

/* Build the norm. Each level folds up to FOLD_CHUNK partials to one; the last
 * one is the norm. An x that is too long for one launch is a list of pieces.
 * All pieces except the last consist of whole chunks, so the bits are the same
 * as without the division. */
static void norm_build(struct plan *p, const struct norm_op *op)
{
    const struct view_list *list = op->op.list;
    uint32_t total = list == NULL ? chunks_of_view(&op->x) : 0, first = 0;
    struct view part, above;
    for (size_t i = 0; list != NULL && i < list->n; i++)
        total += chunks_of_view(&list->v[i]);
    plan_scratch(p, SSQ_F32, 3 * (uint64_t)total, &part);
    if (list == NULL)
        chunks(p, &op->x, &part, 0, total);
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        chunks(p, &list->v[i], &part, first, total);
        first += chunks_of_view(&list->v[i]);
    }
    for (bool last = false; !last; part = above) {
        struct norm_partials_args a = {.n = total, .last = total <= FOLD_CHUNK};
        last = a.last != 0;
        total = chunks_of(total);
        if (!last)
            plan_scratch(p, SSQ_F32, 3 * (uint64_t)total, &above);
        else
            above = op->y;
        plan_kernel(p, KERNEL_norm_partials, KEYS(0));
        plan_bind(p, &part, ACCESS_READ);
        plan_bind(p, &above, ACCESS_WRITE);
        plan_groups(p, &a, sizeof(a), total, FOLD_LOOPS);
    }
}

const struct norm_plan norm_plans[] = {{"portable", NULL, norm_build}, {NULL}};
