/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - fill, copy and cast: check and enqueue. */
#include <sesqui/ops/data.h>

#include "kernels/scalar/scalar.h"
#include "lib/op/data/data.h"

#include <string.h>

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

ssq_status ssq_fill(ssq_queue *queue, const ssq_fill_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "fill");
    if (st == SSQ_OK)
        st = check_output(queue, args->x, "fill", "x");
    return st == SSQ_OK ? enqueue_fill(queue, &args->x->view, args->value) : st;
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

/* Set *v to x broadcast to y's shape, by strides of 0. */
static ssq_status broadcast_input(const ssq_tensor *x, const ssq_tensor *y,
                                  const char *op, struct view *v)
{
    *v = tensor_view(x, ACCESS_READ);
    char tx[128], ty[128];
    if (!view_broadcast(v, y->view.rank, y->view.shape))
        return error_set(SSQ_ERR_INVALID,
                         "%s: x is %s, which does not broadcast to y, %s", op,
                         view_text(&x->view, tx, sizeof(tx)),
                         view_text(&y->view, ty, sizeof(ty)));
    return SSQ_OK;
}

/* A copy does not convert. A different dtype is an error here and not a loss of
 * bits; ssq_cast() converts. */
ssq_status ssq_copy(ssq_queue *queue, const ssq_copy_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "copy");
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, "copy", "x");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "copy", "y");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(args->x->view.dtype), "copy", "y");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", false, "copy");
    struct view x;
    if (st == SSQ_OK)
        st = broadcast_input(args->x, args->y, "copy", &x);
    return st == SSQ_OK ? enqueue_copy(queue, &x, &args->y->view) : st;
}

/* Check the rounding and the arguments of stochastic rounding. It is for 16-bit
 * floats only. It draws words of a stream, whose step may be on the device. */
static ssq_status check_rounding(const ssq_cast_args *a)
{
    if ((unsigned)a->rounding > SSQ_ROUND_STOCHASTIC)
        return error_set(SSQ_ERR_INVALID, "cast: %d is not a rounding",
                         (int)a->rounding);
    ssq_dtype y = a->y->view.dtype;
    if (a->rounding == SSQ_ROUND_STOCHASTIC && y != SSQ_F16 && y != SSQ_BF16)
        return error_set(SSQ_ERR_INVALID,
                         "cast: stochastic rounding to %s, expected f16, bf16",
                         ssq_dtype_name(y));
    if (a->step != NULL && view_elements(&a->step->view) != 1)
        return error_set(SSQ_ERR_INVALID,
                         "cast: step has %lld elements, expected 1",
                         (long long)view_elements(&a->step->view));
    return check_dtype(a->step, DTYPE_BIT(SSQ_I32), "cast", "step");
}

/* op is initialised before st is tested, so args may still be NULL there. */
ssq_status ssq_cast(ssq_queue *queue, const ssq_cast_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "cast");
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, "cast", "x");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "cast", "y");
    if (st == SSQ_OK)
        st = check_optional(queue, args->step, "cast", "step");
    if (st == SSQ_OK)
        st = check_rounding(args);
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", true, "cast");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->step, "step", false, "cast");
    struct cast_op op = {.op = OP_HEADER(cast, x),
                         .rounding = args == NULL ? 0 : args->rounding};
    if (st == SSQ_OK)
        st = broadcast_input(args->x, args->y, "cast", &op.x);
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    op.seed[0] = (uint32_t)args->seed;
    op.seed[1] = (uint32_t)(args->seed >> 32);
    op.id = args->id;
    op.y = tensor_view(args->y, ACCESS_WRITE);
    op.step = tensor_view(args->step, ACCESS_READ);
    struct view *v[] = {&op.x, &op.y};
    views_collapse(v, 2);
    return queue_enqueue(queue, &op.op);
}
