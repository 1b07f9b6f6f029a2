/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - the plan of rotary positions. */
#include "lib/core/queue/plan.h"

#include "kernels/attention/rotary_args.h"
#include "lib/op/attention/rotary.h"
#include "lib/plan/walk.h"
#include "lib/plan/windows.h"

/* Return the stride of the last dimension, in elements; 0 for an absent
 * operand. */
static uint32_t last_stride(const struct view *v)
{
    return v->buffer == NULL ? 0 : (uint32_t)v->stride[v->rank - 1];
}

/* Bind v as elements of 2 and of 4 bytes; one of the two is absent. */
static void rotary_bind_both(struct plan *p, const struct view *v,
                             enum access access)
{
    static const struct view absent;
    bool wide = v->buffer != NULL && v->dtype == SSQ_F32;
    plan_bind(p, wide ? &absent : v, access);
    plan_bind(p, wide ? v : &absent, access);
}

/* Set the walk over all dimensions except the last. The last dimension contains
 * the elements of a head, and has its own strides. */
static void set_walk(struct rotary_args *a, const struct rotary_op *op)
{
    const struct view *x = &op->x;
    int lead = x->rank - 1;
    walk_shape(x, 0, lead, &a->rank, a->size);
    walk_steps(x, 0, lead, a->x_steps);
    walk_steps(&op->y, 0, lead, a->y_steps);
    walk_steps(&op->position, 0, lead, a->position_steps);
    walk_steps(&op->cosine, 0, lead, a->cos_steps);
    walk_steps(&op->sine, 0, lead, a->sin_steps);
    a->x_stride = last_stride(x);
    a->y_stride = last_stride(&op->y);
    a->freq_stride = last_stride(&op->freq);
    a->cos_stride = last_stride(&op->cosine);
    a->sin_stride = last_stride(&op->sine);
}

/* Rotate a window. The slots of a row are its pairs and the elements after the
 * last pair. An item rotates one pair, or copies one element. Angles come from
 * positions and frequencies, or from given cosines and sines. */
static void rotary_window(struct plan *p, const struct op *some, void *user)
{
    const struct rotary_op *op = (const struct rotary_op *)some;
    (void)user;
    const struct view *x = &op->x;
    int64_t d = x->shape[x->rank - 1], slots = d - op->dims / 2;
    struct rotary_args a = {.n = (uint32_t)(view_elements(x) / d * slots),
                            .slots = (uint32_t)slots,
                            .pairs = (uint32_t)(op->dims / 2),
                            .interleaved = op->interleaved,
                            .inverse = op->inverse,
                            .positions = op->position.buffer != NULL,
                            .offset = (uint32_t)op->offset,
                            .angles = op->cosine.buffer != NULL,
                            .x_dtype = x->dtype,
                            .y_dtype = op->y.dtype,
                            .cos_dtype = op->cosine.dtype,
                            .sin_dtype = op->sine.dtype};
    set_walk(&a, op);
    plan_kernel(p, KERNEL_rotary_rows, KEYS((uint8_t)dtype_bytes(x->dtype)));
    plan_bind(p, x, ACCESS_READ);
    rotary_bind_both(p, &op->y, ACCESS_WRITE);
    plan_bind(p, &op->position, ACCESS_READ);
    plan_bind(p, &op->freq, ACCESS_READ);
    rotary_bind_both(p, &op->cosine, ACCESS_READ);
    rotary_bind_both(p, &op->sine, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.n, LOOPS_FEW);
}

/* Build rotary positions. If the position of a row is its index, that dimension
 * is not cut. */
static void rotary_build(struct plan *p, const struct rotary_op *op)
{
    struct rotary_op part = *op;
    bool given = !view_absent(&op->position) || !view_absent(&op->cosine);
    const struct window_cut cut = {
        .walked = 0x3b, .dims = plan_dims(op->x.rank - (given ? 1 : 2))};
    plan_windows(p, &part.op, &cut, rotary_window, NULL);
}

const struct rotary_plan rotary_plans[] = {{"portable", NULL, rotary_build},
                                           {NULL}};
