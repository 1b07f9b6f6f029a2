/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - the plans of random fills and dropout. */
#include "lib/op/random/random.h"

#include "kernels/random/random_args.h"
#include "lib/core/queue/plan.h"
#include "lib/plan/walk.h"

/* Return the fields that select the random words of a launch. Element i of y
 * uses word offset + first + i, where first is the number of elements of the
 * call before this op. So the values do not depend on how the call is divided.
 * dense: element i has offset i in every operand, and no walk is needed. */
static struct random_stream stream_of(const struct stream *s, uint64_t first,
                                      const struct view *step,
                                      const struct view *y, bool dense)
{
    uint64_t base = s->offset + first;
    return (struct random_stream){.n = (uint32_t)view_elements(y),
                                  .dense = dense,
                                  .seed_low = s->seed[0],
                                  .seed_high = s->seed[1],
                                  .id = s->id,
                                  .base_low = (uint32_t)base,
                                  .base_high = (uint32_t)(base >> 32),
                                  .step_given = step->buffer != NULL};
}

/* Build a random fill. The value of an element depends only on the word with
 * its number. It does not depend on the device or the size of a group. All
 * kinds share one struct of parameters. The kind is a key, and a kernel reads
 * only the fields of its kind. */
static void plan_random_fill(struct plan *p, const struct random_op *op)
{
    const struct view *y = &op->y;
    struct random_args a = {.stream =
                                stream_of(&op->stream, op->op.first, &op->step,
                                          y, view_contiguous(y)),
                            .y_dtype = y->dtype,
                            .threshold = op->one.threshold,
                            .always = op->one.always,
                            .a = op->a,
                            .b = op->b};
    walk_shape(y, 0, y->rank, &a.rank, a.size);
    walk_steps(y, 0, y->rank, a.y_steps);
    plan_kernel(p, KERNEL_random_fill,
                KEYS((uint8_t)op->kind, (uint8_t)dtype_bytes(y->dtype)));
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, &op->step, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.stream.n, LOOPS_FEW);
}

/* Build dropout. mask is optional; if it is absent, its steps are 0 and the
 * kernel does not write it. It is always bound, and so is step, because a
 * kernel has the same operands in every launch. */
static void plan_random_dropout(struct plan *p, const struct dropout_op *op)
{
    const struct view *x = &op->x, *y = &op->y, *mask = &op->mask;
    bool masked = mask->buffer != NULL;
    bool dense = view_contiguous(x) && view_contiguous(y) &&
                 (!masked || view_contiguous(mask));
    struct dropout_args a = {
        .stream = stream_of(&op->stream, op->op.first, &op->step, y, dense),
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
        .masked = masked,
        .threshold = op->drop.threshold,
        .always = op->drop.always,
        .scale = op->scale};
    walk_shape(y, 0, y->rank, &a.rank, a.size);
    walk_steps(x, 0, y->rank, a.x_steps);
    walk_steps(y, 0, y->rank, a.y_steps);
    if (masked)
        walk_steps(mask, 0, y->rank, a.mask_steps);
    plan_kernel(
        p, KERNEL_dropout,
        KEYS((uint8_t)dtype_bytes(x->dtype), (uint8_t)dtype_bytes(y->dtype)));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, mask, ACCESS_WRITE);
    plan_bind(p, &op->step, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.stream.n, LOOPS_FEW);
}

const struct random_plan random_plans[] = {{"portable", NULL, plan_random_fill},
                                           {NULL}};
const struct dropout_plan dropout_plans[] = {
    {"portable", NULL, plan_random_dropout}, {NULL}};
