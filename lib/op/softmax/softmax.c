/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax, log-softmax and their backward: check and enqueue. */
#include "lib/op/softmax/softmax.h"

#include <sesqui/ops/softmax.h>

#include "lib/op/operands.h"

/* Enqueue an op whose views have one shape, with rows along axis. The axis
 * becomes the last dimension, and the others are merged. */
static ssq_status softmax_enqueue_rows(ssq_queue *queue, struct op *op,
                                       struct view **views, int n, int axis)
{
    if (view_elements(views[0]) == 0)
        return SSQ_OK;
    for (int k = 0; k < n; k++)
        view_axis_last(views[k], axis);
    views_collapse_rows(views, n, 1);
    return queue_enqueue(queue, op);
}

/* Check and enqueue either kind. y may be x, because a whole row is read before
 * it is written. */
static ssq_status softmax_forward(ssq_queue *queue,
                                  const ssq_softmax_args *args,
                                  const char *name, enum softmax_kind kind)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct operand_rule rules[] = {
        {args->x, "x", DTYPES_FLOAT, 0, 0},
        {args->y, "y", DTYPES_FLOAT, OPERAND_OUT, 1u << 0},
    };
    int axis = 0;
    st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_same_shape(args->x, "x", args->y, "y", name);
    if (st == SSQ_OK)
        st = check_axis(args->axis, args->x->view.rank, name, &axis);
    if (st != SSQ_OK)
        return st;
    struct softmax_op op = {.op = OP_HEADER(softmax, x),
                            .kind = kind,
                            .x = tensor_view(args->x, ACCESS_READ),
                            .y = tensor_view(args->y, ACCESS_WRITE)};
    struct view *views[] = {&op.x, &op.y};
    return softmax_enqueue_rows(queue, &op.op, views, 2, axis);
}

ssq_status ssq_softmax(ssq_queue *queue, const ssq_softmax_args *args)
{
    return softmax_forward(queue, args, "softmax", SOFTMAX_PLAIN);
}

ssq_status ssq_log_softmax(ssq_queue *queue, const ssq_log_softmax_args *args)
{
    return softmax_forward(queue, args, "log_softmax", SOFTMAX_LOG);
}

/* Compute the gradient from y, the result of the forward call: x need not be
 * kept. */
static ssq_status op_softmax_backward(ssq_queue *queue,
                                      const ssq_softmax_backward_args *args,
                                      const char *name, enum softmax_kind kind)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct operand_rule rules[] = {
        {args->y, "y", DTYPES_FLOAT, 0, 0},
        {args->dy, "dy", DTYPES_FLOAT, 0, 0},
        {args->dx, "dx", DTYPES_FLOAT, OPERAND_OUT, 1u << 0 | 1u << 1},
    };
    int axis = 0;
    st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_same_shape(args->y, "y", args->dy, "dy", name);
    if (st == SSQ_OK)
        st = check_same_shape(args->y, "y", args->dx, "dx", name);
    if (st == SSQ_OK)
        st = check_axis(args->axis, args->y->view.rank, name, &axis);
    if (st != SSQ_OK)
        return st;
    struct softmax_backward_op op = {.op = OP_HEADER(softmax_backward, y),
                                     .kind = kind,
                                     .y = tensor_view(args->y, ACCESS_READ),
                                     .dy = tensor_view(args->dy, ACCESS_READ),
                                     .dx = tensor_view(args->dx, ACCESS_WRITE)};
    struct view *views[] = {&op.y, &op.dy, &op.dx};
    return softmax_enqueue_rows(queue, &op.op, views, 3, axis);
}

ssq_status ssq_softmax_backward(ssq_queue *queue,
                                const ssq_softmax_backward_args *args)
{
    return op_softmax_backward(queue, args, "softmax_backward", SOFTMAX_PLAIN);
}

ssq_status ssq_log_softmax_backward(ssq_queue *queue,
                                    const ssq_log_softmax_backward_args *args)
{
    return op_softmax_backward(queue, args, "log_softmax_backward",
                               SOFTMAX_LOG);
}
