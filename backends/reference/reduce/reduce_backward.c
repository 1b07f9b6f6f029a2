/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward.c - reference: gradients of reductions.
 *
 *     mean       dx = dy / divisor
 *     max, min   dx = dy / ties if x equals y, otherwise 0 */
#include "lib/op/reduce/reduce.h"

#include "backends/reference/reduce/part.h"
#include "kernels/reduce/reduce.h"

/* Return how many elements equal the extreme y. They share its gradient. */
static uint32_t reduce_ties(const struct view *x, float y)
{
    struct walk w;
    uint32_t ties = 0;
    walk_begin(&w, &x, 1);
    do {
        ties += extreme_tie(view_load(x, w.at[0]), y);
    } while (walk_next(&w));
    return ties;
}

/* Set dx to a share of dy for each x that equals y, and to 0 elsewhere. If no
 * element equals y, set all of dx to NaN. dx may be x: the ties are counted
 * first. */
static void reduce_backward_extreme(const struct view *x, float y, float dy,
                                    const struct view *dx)
{
    struct walk w;
    uint32_t ties = reduce_ties(x, y);
    float share = extreme_share(dy, ties), other = ties == 0 ? share : 0.0f;
    walk_begin(&w, (const struct view *[]){x, dx}, 2);
    do {
        bool tie = extreme_tie(view_load(x, w.at[0]), y);
        view_store(dx, w.at[1], tie ? share : other);
    } while (walk_next(&w));
}

/* Set all elements of dx to the same gradient. */
static void reduce_backward_fill(float value, const struct view *dx)
{
    struct walk w;
    walk_begin(&w, &dx, 1);
    do {
        view_store(dx, w.at[0], value);
    } while (walk_next(&w));
}

/* Compute the part of dx that belongs to each element of dy. x and y are
 * present only for an extreme; otherwise other views replace them in the
 * walk. */
static ssq_status
reference_reduce_backward_run(struct backend_queue *queue,
                              const struct reduce_backward_op *op)
{
    (void)queue;
    struct walk w;
    bool extreme = op->kind == REDUCE_MAX;
    struct view kept = view_part(&op->dx, 0, op->kept), kept_x = kept;
    if (extreme)
        kept_x = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&op->dy, &kept, &kept_x,
                              extreme ? &op->y : &op->dy};
    walk_begin(&w, v, 4);
    do {
        struct view dx = reduce_part(&op->dx, op->kept, w.at[1]);
        float dy = view_load(&op->dy, w.at[0]);
        if (!extreme) {
            reduce_backward_fill(s_div(dy, op->divisor), &dx);
            continue;
        }
        struct view x = reduce_part(&op->x, op->kept, w.at[2]);
        float y = view_load(&op->y, w.at[3]);
        reduce_backward_extreme(&x, y, dy, &dx);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(reduce_backward);
