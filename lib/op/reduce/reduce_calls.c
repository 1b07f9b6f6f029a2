/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_calls.c - sum, mean, prod, max, min, argmax, sum_to: check and
 * enqueue. */
#include <sesqui/ops/reduce.h>

#include "lib/op/reduce/reduce_axes.h"
#include "lib/op/reduce/reduce_long.h"

#include <math.h>

/* Return true for max and min. They choose an element: any dtype is allowed,
 * nothing is rounded, and y has x's dtype. */
static bool op_reduce_extreme(enum reduce_kind kind)
{
    return kind == REDUCE_MAX || kind == REDUCE_MIN;
}

/* Reduce over no elements: a sum is 0, a product 1, a mean 0 / 0. An extreme is
 * refused, because it has nothing to choose from. */
static ssq_status reduce_nothing(ssq_queue *queue, enum reduce_kind kind,
                                 const char *name, const struct view *x,
                                 const struct view *y)
{
    char text[128];
    if (op_reduce_extreme(kind))
        return error_set(SSQ_ERR_INVALID,
                         "%s: x is %s: no elements to choose from", name,
                         view_text(x, text, sizeof(text)));
    double value = kind == REDUCE_SUM ? 0.0 : 1.0;
    return enqueue_fill(queue, y, kind == REDUCE_MEAN ? (double)NAN : value);
}

/* Reduce x over a into y; the caller has checked everything except their
 * shapes. The divisor is rounded to float32, in which the mean is divided. */
static ssq_status enqueue_reduce(ssq_queue *queue, enum reduce_kind kind,
                                 const char *name, const struct axes *a,
                                 const struct view *x, const struct view *y)
{
    struct reduce_op op = {.op = OP_HEADER(reduce, x), .kind = kind};
    ssq_status st = axes_project(a, x, "x", y, "y", name, &op.y);
    if (st != SSQ_OK || view_elements(y) == 0)
        return st;
    int64_t count = axes_count(a, x);
    if (count == 0)
        return reduce_nothing(queue, kind, name, x, y);
    struct fpenv env = fpenv_enter();
    op.divisor = (float)count;
    fpenv_leave(env);
    op.kept = axes_split(a, x, &op.x);
    op.x.access = ACCESS_READ;
    op.y.access = ACCESS_WRITE;
    struct view *split[] = {&op.x}, *kept[] = {&op.y};
    axes_collapse(split, 1, kept, 1, &op.kept);
    return reduce_enqueue(queue, &op);
}

/* Check presence and overlap of x and y. y must not overlap x: an element of y
 * is written while others still read. */
static ssq_status reduce_check_pair(const ssq_queue *queue, const ssq_tensor *x,
                                    const ssq_tensor *y, const char *name)
{
    ssq_status st = check_operand(queue, x, name, "x");
    if (st == SSQ_OK)
        st = check_output(queue, y, name, "y");
    if (st == SSQ_OK)
        st = check_alias(y, "y", x, "x", false, name);
    return st;
}

/* Check and enqueue a public call with these args. */
static ssq_status op_reduce(ssq_queue *queue, const ssq_reduce_args *args,
                            enum reduce_kind kind, const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = reduce_check_pair(queue, args->x, args->y, name);
    if (st == SSQ_OK && !op_reduce_extreme(kind))
        st = check_dtype(args->x, DTYPES_FLOAT, name, "x");
    if (st == SSQ_OK)
        st =
            check_dtype(args->y,
                        op_reduce_extreme(kind) ? DTYPE_BIT(args->x->view.dtype)
                                                : DTYPES_FLOAT,
                        name, "y");
    struct axes a;
    if (st == SSQ_OK)
        st = axes_read(args->axes, args->n_axes, args->x->view.rank, name, &a);
    if (st != SSQ_OK)
        return st;
    return enqueue_reduce(queue, kind, name, &a, &args->x->view,
                          &args->y->view);
}

ssq_status ssq_sum(ssq_queue *queue, const ssq_sum_args *args)
{
    return op_reduce(queue, args, REDUCE_SUM, "sum");
}

ssq_status ssq_mean(ssq_queue *queue, const ssq_mean_args *args)
{
    return op_reduce(queue, args, REDUCE_MEAN, "mean");
}

ssq_status ssq_prod(ssq_queue *queue, const ssq_prod_args *args)
{
    return op_reduce(queue, args, REDUCE_PROD, "prod");
}

ssq_status ssq_max(ssq_queue *queue, const ssq_max_args *args)
{
    return op_reduce(queue, args, REDUCE_MAX, "max");
}

ssq_status ssq_min(ssq_queue *queue, const ssq_min_args *args)
{
    return op_reduce(queue, args, REDUCE_MIN, "min");
}

/* Find the dimensions along which y would be repeated if it were broadcast to
 * x's shape: these are summed. */
static ssq_status reduce_repeated(const struct view *x, const struct view *y,
                                  struct axes *a)
{
    struct view wide = *y;
    char tx[128], ty[128];
    if (!view_broadcast(&wide, x->rank, x->shape))
        return error_set(SSQ_ERR_INVALID,
                         "sum_to: y is %s, which does not broadcast to x, %s",
                         view_text(y, ty, sizeof(ty)),
                         view_text(x, tx, sizeof(tx)));
    *a = (struct axes){.n = 0};
    int lead = x->rank - y->rank;
    for (int i = 0; i < x->rank; i++) {
        a->reduced[i] = i < lead || y->shape[i - lead] != x->shape[i];
        a->n += a->reduced[i];
    }
    return SSQ_OK;
}

ssq_status ssq_sum_to(ssq_queue *queue, const ssq_sum_to_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "sum_to");
    if (st == SSQ_OK)
        st = reduce_check_pair(queue, args->x, args->y, "sum_to");
    if (st == SSQ_OK)
        st = check_dtype(args->x, DTYPES_FLOAT, "sum_to", "x");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPES_FLOAT, "sum_to", "y");
    struct axes a;
    if (st == SSQ_OK)
        st = reduce_repeated(&args->x->view, &args->y->view, &a);
    if (st != SSQ_OK)
        return st;
    const struct view *x = &args->x->view, *y = &args->y->view;
    if (a.n == 0)
        return enqueue_copy(queue, x, y);
    /* left is y without the summed dimensions. y has some of them as 1 and may
     * lack leading ones; axes_project() accepts only a view that has all of
     * them or none. */
    struct view left = *y;
    left.rank = 0;
    for (int i = 0; i < y->rank; i++) {
        if (a.reduced[x->rank - y->rank + i])
            continue;
        left.shape[left.rank] = y->shape[i];
        left.stride[left.rank++] = y->stride[i];
    }
    return enqueue_reduce(queue, REDUCE_SUM, "sum_to", &a, x, &left);
}

/* Check and enqueue. y holds positions as i32, which limits the length of the
 * axis. An empty axis is refused. */
static ssq_status op_reduce_argmax(ssq_queue *queue,
                                   const ssq_argmax_args *args, bool minimum,
                                   const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = reduce_check_pair(queue, args->x, args->y, name);
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(SSQ_I32), name, "y");
    if (st == SSQ_OK && args->x->view.rank == 0)
        st = error_set(SSQ_ERR_INVALID, "%s: x has rank 0, expected 1 or more",
                       name);
    struct axes a;
    if (st == SSQ_OK)
        st = axes_read(&args->axis, 1, args->x->view.rank, name, &a);
    struct argmax_op op = {.op = OP_HEADER(argmax, x), .minimum = minimum};
    if (st == SSQ_OK)
        st = axes_project(&a, &args->x->view, "x", &args->y->view, "y", name,
                          &op.y);
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    int64_t count = axes_count(&a, &args->x->view);
    if (count == 0)
        return reduce_nothing(queue, REDUCE_MAX, name, &args->x->view,
                              &args->y->view);
    if (count > INT32_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %lld elements along the axis, at most "
                         "2147483647",
                         name, (long long)count);
    op.last = args->last;
    op.kept = axes_split(&a, &args->x->view, &op.x);
    op.x.access = ACCESS_READ;
    op.y.access = ACCESS_WRITE;
    struct view *split[] = {&op.x}, *kept[] = {&op.y};
    axes_collapse(split, 1, kept, 1, &op.kept);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_argmax(ssq_queue *queue, const ssq_argmax_args *args)
{
    return op_reduce_argmax(queue, args, false, "argmax");
}

ssq_status ssq_argmin(ssq_queue *queue, const ssq_argmin_args *args)
{
    return op_reduce_argmax(queue, args, true, "argmin");
}

/* y is float32 for any x: the norm of 16-bit gradients easily leaves their
 * range. */
ssq_status ssq_norm(ssq_queue *queue, const ssq_norm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "norm");
    if (st == SSQ_OK)
        st = reduce_check_pair(queue, args->x, args->y, "norm");
    if (st == SSQ_OK)
        st = check_dtype(args->x, DTYPES_FLOAT, "norm", "x");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(SSQ_F32), "norm", "y");
    if (st != SSQ_OK)
        return st;
    if (view_elements(&args->y->view) != 1)
        return error_set(SSQ_ERR_INVALID,
                         "norm: y has %lld elements, expected 1",
                         (long long)view_elements(&args->y->view));
    if (view_elements(&args->x->view) == 0)
        return enqueue_fill(queue, &args->y->view, 0.0);
    struct norm_op op = {.op = OP_HEADER(norm, x),
                         .x = tensor_view(args->x, ACCESS_READ),
                         .y = tensor_view(args->y, ACCESS_WRITE)};
    struct view *x[] = {&op.x}, *y[] = {&op.y};
    views_collapse(x, 1);
    views_collapse(y, 1);
    return norm_enqueue(queue, &op);
}
