/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - fill, copy and cast: check and enqueue. */
#include <sesqui/ops/data.h>

#include "lib/core/core.h"

ssq_status ssq_fill(ssq_queue *queue, const ssq_fill_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "fill");
    if (st == SSQ_OK)
        st = check_output(queue, args->x, "fill", "x");
    return st == SSQ_OK ? enqueue_fill(queue, &args->x->view, args->value) : st;
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
