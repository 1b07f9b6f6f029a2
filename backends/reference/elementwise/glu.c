/* SPDX-License-Identifier: Apache-2.0 */
/* glu.c - reference: y = a f(b) and db = dy a f'(b). */
#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/glu.h"

/* Compute y = a f(b), with the f of the gate. f(b) and the product are rounded
 * in float32, by the same code as in the kernel. A 16-bit y rounds once
 * more. */
static ssq_status reference_glu_run(struct backend_queue *queue,
                                    const struct glu_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->a, &op->b, &op->y};
    const void *a = view_host(&op->a), *b = view_host(&op->b);
    void *y = view_host(&op->y);
    const uint32_t kind = glu_function(op->gate);
    walk_begin(&w, v, 3);
    do {
        float ai = load_f32(a, op->a.dtype, w.at[0]);
        float bi = load_f32(b, op->b.dtype, w.at[1]);
        store_f32(y, op->y.dtype, w.at[2], glu_value(kind, ai, bi));
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Compute db = dy a f'(b). The gradient of a is glu of dy and b, so it needs no
 * code here. */
static ssq_status reference_glu_backward_run(struct backend_queue *queue,
                                             const struct glu_backward_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->a, &op->b, &op->dy, &op->db};
    const void *a = view_host(&op->a), *b = view_host(&op->b);
    const void *dy = view_host(&op->dy);
    void *db = view_host(&op->db);
    const uint32_t kind = glu_function(op->gate);
    walk_begin(&w, v, 4);
    do {
        float ai = load_f32(a, op->a.dtype, w.at[0]);
        float bi = load_f32(b, op->b.dtype, w.at[1]);
        float dyi = load_f32(dy, op->dy.dtype, w.at[2]);
        store_f32(db, op->db.dtype, w.at[3], glu_gradient(kind, ai, bi, dyi));
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(glu);
REFERENCE_IMPL(glu_backward);
