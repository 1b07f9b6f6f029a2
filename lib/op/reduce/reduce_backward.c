/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward.c - backward of sum, mean, max, min: check and enqueue. */
#include <sesqui/ops/reduce.h>

#include "lib/op/reduce/pieces.h"
#include "lib/op/reduce/reduce_axes.h"

/* Check dy and dx. Sets *kept to dy as the kept dimensions of dx. dx must not
 * overlap dy, each element of which goes to many elements of dx. */
static ssq_status
reduce_backward_check_gradients(const ssq_queue *queue, const ssq_tensor *dy,
                                const ssq_tensor *dx, const int *axes,
                                int n_axes, const char *name, struct axes *a,
                                struct view *kept)
{
    ssq_status st = check_operand(queue, dy, name, "dy");
    if (st == SSQ_OK)
        st = check_output(queue, dx, name, "dx");
    if (st == SSQ_OK)
        st = check_dtype(dy, DTYPES_FLOAT, name, "dy");
    if (st == SSQ_OK)
        st = check_dtype(dx, DTYPES_FLOAT, name, "dx");
    if (st == SSQ_OK)
        st = check_alias(dx, "dx", dy, "dy", false, name);
    if (st == SSQ_OK)
        st = axes_read(axes, n_axes, dx->view.rank, name, a);
    if (st == SSQ_OK)
        st = axes_project(a, &dx->view, "dx", &dy->view, "dy", name, kept);
    return st;
}

/* The gradient of a sum is dy, repeated: a copy from strides of 0. */
ssq_status ssq_sum_backward(ssq_queue *queue, const ssq_sum_backward_args *args)
{
    const char *name = "sum_backward";
    struct axes a;
    struct view dy, dx;
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = reduce_backward_check_gradients(
            queue, args->dy, args->dx, args->axes, args->n_axes, name, &a, &dy);
    if (st != SSQ_OK)
        return st;
    int kept = axes_split(&a, &args->dx->view, &dx);
    for (int i = kept; i < dx.rank; i++) {
        dy.shape[i] = dx.shape[i];
        dy.stride[i] = 0;
    }
    dy.rank = dx.rank;
    return enqueue_copy(queue, &dy, &dx);
}

/* Repeat dy along the reduced dimensions, and count these as kept: windows may
 * then cut through them. The divisor does not change. */
static void repeat(struct reduce_backward_op *op)
{
    for (; op->kept < op->dx.rank; op->kept++) {
        op->dy.shape[op->kept] = op->dx.shape[op->kept];
        op->dy.stride[op->kept] = 0;
    }
    op->dy.rank = op->kept;
}

/* Collapse and enqueue. The views of op are set. dx and x are not yet split
 * into kept and reduced dimensions; dy and y have only the kept ones. A mean
 * has no x and y. */
static ssq_status
reduce_backward_enqueue_backward(ssq_queue *queue, const struct axes *a,
                                 struct reduce_backward_op *op)
{
    if (view_elements(&op->dx) == 0)
        return SSQ_OK;
    struct fpenv env = fpenv_enter();
    op->divisor = (float)axes_count(a, &op->dx);
    fpenv_leave(env);
    bool max = op->kind == REDUCE_MAX;
    op->dy.access = op->x.access = op->y.access = ACCESS_READ;
    op->dx.access = ACCESS_WRITE;
    struct view dx = op->dx, x = op->x;
    op->kept = axes_split(a, &dx, &op->dx);
    if (max)
        (void)axes_split(a, &x, &op->x);
    struct view *split[] = {&op->dx, &op->x}, *kept[] = {&op->dy, &op->y};
    axes_collapse(split, max ? 2 : 1, kept, max ? 2 : 1, &op->kept);
    if (!max && !op_splits(queue, &op->op))
        repeat(op);
    return queue_enqueue(queue, &op->op);
}

ssq_status ssq_mean_backward(ssq_queue *queue,
                             const ssq_mean_backward_args *args)
{
    struct reduce_backward_op op = {.op = OP_HEADER(reduce_backward, dy),
                                    .kind = REDUCE_MEAN};
    struct axes a;
    ssq_status st = CHECK_CALL(queue, args, "mean_backward");
    if (st == SSQ_OK)
        st = reduce_backward_check_gradients(queue, args->dy, args->dx,
                                             args->axes, args->n_axes,
                                             "mean_backward", &a, &op.dy);
    if (st != SSQ_OK)
        return st;
    op.dx = args->dx->view;
    return reduce_backward_enqueue_backward(queue, &a, &op);
}

/* Check the operands that only max_backward has: x and y, which show the
 * elements that were the extreme. y must have x's dtype, or rounding would make
 * them differ. */
static ssq_status check_max(const ssq_queue *queue,
                            const ssq_max_backward_args *args)
{
    const char *name = "max_backward";
    ssq_status st = check_operand(queue, args->x, name, "x");
    if (st == SSQ_OK)
        st = check_operand(queue, args->y, name, "y");
    if (st == SSQ_OK)
        st = check_dtype(args->x, DTYPES_FLOAT, name, "x");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(args->x->view.dtype), name, "y");
    if (st == SSQ_OK)
        st = check_same_shape(args->x, "x", args->dx, "dx", name);
    if (st == SSQ_OK)
        st = check_alias(args->dx, "dx", args->x, "x", true, name);
    if (st == SSQ_OK)
        st = check_alias(args->dx, "dx", args->y, "y", false, name);
    return st;
}

ssq_status ssq_max_backward(ssq_queue *queue, const ssq_max_backward_args *args)
{
    const char *name = "max_backward";
    struct reduce_backward_op op = {.op = OP_HEADER(reduce_backward, dy),
                                    .kind = REDUCE_MAX};
    struct axes a;
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = reduce_backward_check_gradients(queue, args->dy, args->dx,
                                             args->axes, args->n_axes, name, &a,
                                             &op.dy);
    if (st == SSQ_OK)
        st = check_max(queue, args);
    if (st == SSQ_OK)
        st = axes_project(&a, &args->x->view, "x", &args->y->view, "y", name,
                          &op.y);
    if (st != SSQ_OK)
        return st;
    op.dx = args->dx->view;
    op.x = args->x->view;
    return reduce_backward_enqueue_backward(queue, &a, &op);
}
