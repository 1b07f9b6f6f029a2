/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - the plans of random fills and dropout. */
#include "lib/op/random/random.h"

#include "kernels/random/random_args.h"
#include "lib/plan/plan.h"
#include "lib/plan/walk.h"

/* What tells a kernel which random words are its own. first is how many
 * elements of the call came before this op: word base + i belongs to element i
 * of y, however the call is divided. dense: element i lies at place i of every
 * operand, so that nothing has to be walked. */
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

/* An item makes each element from a word of its own number, so that neither the
 * device nor the shape of its groups changes the values. All kinds have one
 * struct of parameters, of which a kernel reads those of its kind, which is a
 * key. */
static void random_fill(struct plan *p, const struct random_op *op)
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

/* mask is optional; its steps stay 0 where it is absent, and the kernel does
 * not store there. It is bound in any case, since a kernel has the same
 * operands in every launch; so is the step. */
static void dropout(struct plan *p, const struct dropout_op *op)
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

const struct random_plan random_plans[] = {{"portable", NULL, random_fill},
                                           {NULL}};
const struct dropout_plan dropout_plans[] = {{"portable", NULL, dropout},
                                             {NULL}};
