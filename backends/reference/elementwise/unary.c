/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - reference: y = f(x), dx = dy f'(x), and scale. */
#include "lib/op/elementwise/elementwise.h"

#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/unary_kinds.h"

/* Compute y = f(x). Integers are computed as bits. A test of floats reads the
 * bits, too, because comparisons fail for NaNs and may fail for subnormals; it
 * returns 0 or 1. Every other function reads the value. */
static ssq_status reference_unary_run(struct backend_queue *queue,
                                      const struct unary_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->x, &op->y};
    const void *x = view_host(&op->x);
    void *y = view_host(&op->y);
    bool integers = !dtype_is_float(op->x.dtype);
    bool test = unary_is_test(op->kind);
    walk_begin(&w, v, 2);
    do {
        if (integers) {
            uint32_t bits = load_bits(x, op->x.dtype, w.at[0]);
            store_bits(y, op->y.dtype, w.at[1], unary_int(op->kind, bits));
        } else {
            float value = load_f32(x, op->x.dtype, w.at[0]);
            value = test ? (float)unary_test(op->kind, AS_U32(value))
                         : unary_value(op->kind, value, op->alpha, op->beta);
            store_f32(y, op->y.dtype, w.at[1], value);
        }
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Compute dx = dy f'(x) in float32, rounded when it is stored. The slope is
 * computed from x and not from y, which may be rounded to 16 bits. dx may be x
 * or dy. */
static ssq_status
reference_unary_backward_run(struct backend_queue *queue,
                             const struct unary_backward_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->x, &op->dy, &op->dx};
    const void *x = view_host(&op->x), *dy = view_host(&op->dy);
    void *dx = view_host(&op->dx);
    walk_begin(&w, v, 3);
    do {
        float xi = load_f32(x, op->x.dtype, w.at[0]);
        float dyi = load_f32(dy, op->dy.dtype, w.at[1]);
        float g = unary_grad(op->kind, xi, dyi, op->alpha, op->beta);
        store_f32(dx, op->dx.dtype, w.at[2], g);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Compute y = x (alpha scale). The product in brackets is rounded first, as in
 * kernels/elementwise/scale.k; (x alpha) scale would have other bits. scale is
 * in device memory, for example a loss scale, so the host need not wait for it.
 * If it is absent the factor is alpha. */
static ssq_status reference_scale_run(struct backend_queue *queue,
                                      const struct scale_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->x, &op->y};
    const void *x = view_host(&op->x), *device = view_host(&op->scale);
    void *y = view_host(&op->y);
    float factor = op->alpha;
    if (device != NULL)
        factor *= load_f32(device, SSQ_F32, 0);
    walk_begin(&w, v, 2);
    do {
        float value = load_f32(x, op->x.dtype, w.at[0]) * factor;
        store_f32(y, op->y.dtype, w.at[1], s_canonical(value));
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(unary);
REFERENCE_IMPL(unary_backward);
REFERENCE_IMPL(scale);
