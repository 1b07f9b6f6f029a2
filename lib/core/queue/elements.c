/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - fills, copies and casts of views, which the core needs itself.
 */
#include "kernels/scalar/scalar.h"
#include "lib/core/core.h"
#include "lib/core/module/data.h"

/* Return value rounded toward zero and clamped to a range, as the bits of
 * 32-bit two's complement; NaN gives 0. The value is clamped first: in C it is
 * undefined to convert a double that an integer type cannot hold. */
static uint32_t saturate(double value, double low, double high)
{
    if (value != value)
        return 0;
    double clamped = value < low ? low : value > high ? high : value;
    return (uint32_t)(int64_t)clamped;
}

/* A 16-bit float is rounded twice, by way of float32, like an element that a
 * kernel computes. */
uint32_t value_bits(double value, ssq_dtype dtype)
{
    switch (dtype) {
    case SSQ_I32:
        return saturate(value, -2147483648.0, 2147483647.0);
    case SSQ_U8:
        return saturate(value, 0.0, 255.0);
    case SSQ_F16:
        return f16_store((float)value);
    case SSQ_BF16:
        return bf16_store((float)value);
    default:
        return AS_U32((float)value);
    }
}

/* The value is converted once, on the host: the op has only bits. */
ssq_status enqueue_fill(ssq_queue *queue, const struct view *y, double value)
{
    if (view_elements(y) == 0)
        return SSQ_OK;
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(value);
    struct fill_op op = {
        .op = OP_HEADER(fill, y), .bits = value_bits(value, y->dtype), .y = *y};
    fpenv_leave(env);
    op.y.access = ACCESS_WRITE;
    struct view *v[] = {&op.y};
    views_collapse(v, 1);
    return queue_enqueue(queue, &op.op);
}

/* The views are collapsed together, so that a copy between contiguous tensors
 * has a single dimension. A cast rounds to nearest: rounding is 0. */
ssq_status enqueue_copy(ssq_queue *queue, const struct view *x,
                        const struct view *y)
{
    if (view_elements(y) == 0)
        return SSQ_OK;
    struct view from = *x, to = *y;
    from.access = ACCESS_READ;
    to.access = ACCESS_WRITE;
    struct view *v[] = {&from, &to};
    views_collapse(v, 2);
    if (x->dtype == y->dtype) {
        struct copy_op op = {.op = OP_HEADER(copy, x), .x = from, .y = to};
        return queue_enqueue(queue, &op.op);
    }
    struct cast_op op = {.op = OP_HEADER(cast, x), .x = from, .y = to};
    return queue_enqueue(queue, &op.op);
}
