/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - gather rows, scatter-add rows, one-hot: check and enqueue. */
#include <sesqui/ops/data.h>

#include "lib/core/core.h"

/* Refuse `rows` unless its shape is index's, followed by the shape of a row of
 * table. */
static ssq_status gather_check_rows(const char *op, const ssq_tensor *table,
                                    const char *table_what,
                                    const ssq_tensor *index,
                                    const ssq_tensor *rows,
                                    const char *rows_what)
{
    const struct view *t = &table->view, *x = &index->view, *r = &rows->view;
    bool same = t->rank >= 1 && r->rank == x->rank + t->rank - 1;
    for (int i = 0; i < r->rank && same; i++)
        same = r->shape[i] ==
               (i < x->rank ? x->shape[i] : t->shape[i - x->rank + 1]);
    if (same)
        return SSQ_OK;
    char tt[128], tx[128], tr[128];
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, index is %s, %s is %s, expected the shape "
                     "of index and then that of a row",
                     op, table_what, view_text(t, tt, sizeof(tt)),
                     view_text(x, tx, sizeof(tx)), rows_what,
                     view_text(r, tr, sizeof(tr)));
}

/* y may have another dtype than x. The elements of index are known only on the
 * device, where an index outside x gives zeros. */
ssq_status ssq_gather_rows(ssq_queue *queue, const ssq_gather_rows_args *args)
{
    const char *name = "gather_rows";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, name, "x");
    if (st == SSQ_OK)
        st = check_operand(queue, args->index, name, "index");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, name, "y");
    if (st == SSQ_OK)
        st = check_dtype(args->index, DTYPE_BIT(SSQ_I32), name, "index");
    if (st == SSQ_OK)
        st = gather_check_rows(name, args->x, "x", args->index, args->y, "y");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", false, name);
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->index, "index", false, name);
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    if (args->x->view.shape[0] == 0) /* x may have no memory to bind */
        return enqueue_fill(queue, &args->y->view, 0.0);
    struct gather_op op = {.op = OP_HEADER(gather, x),
                           .index_rank = args->index->view.rank,
                           .x = tensor_view(args->x, ACCESS_READ),
                           .index = tensor_view(args->index, ACCESS_READ),
                           .y = tensor_view(args->y, ACCESS_WRITE)};
    return queue_enqueue(queue, &op.op);
}

/* Run all checks of ssq_scatter_add_rows(). dx is updated: its elements are
 * terms of the sums. */
static ssq_status check_scatter(const ssq_queue *queue,
                                const ssq_scatter_add_rows_args *args)
{
    const char *name = "scatter_add_rows";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = check_operand(queue, args->dy, name, "dy");
    if (st == SSQ_OK)
        st = check_operand(queue, args->index, name, "index");
    if (st == SSQ_OK)
        st = check_output(queue, args->dx, name, "dx");
    if (st == SSQ_OK)
        st = check_dtype(args->index, DTYPE_BIT(SSQ_I32), name, "index");
    if (st == SSQ_OK)
        st = check_dtype(args->dy, DTYPES_FLOAT, name, "dy");
    if (st == SSQ_OK)
        st = check_dtype(args->dx, DTYPES_FLOAT, name, "dx");
    if (st == SSQ_OK)
        st = gather_check_rows(name, args->dx, "dx", args->index, args->dy,
                               "dy");
    if (st == SSQ_OK)
        st = check_alias(args->dx, "dx", args->dy, "dy", false, name);
    if (st == SSQ_OK)
        st = check_alias(args->dx, "dx", args->index, "index", false, name);
    return st;
}

/* The scratch records the terms of each row, so that they are added in the
 * order of index on every device. Sums therefore have the same bits every time.
 * The words of scratch are i32, hence the limits. */
ssq_status ssq_scatter_add_rows(ssq_queue *queue,
                                const ssq_scatter_add_rows_args *args)
{
    ssq_status st = check_scatter(queue, args);
    if (st != SSQ_OK || view_elements(&args->dy->view) == 0 ||
        view_elements(&args->dx->view) == 0)
        return st;
    int64_t rows = args->dx->view.shape[0];
    int64_t positions = view_elements(&args->index->view);
    if (rows > INT32_MAX || positions > INT32_MAX)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "scatter_add_rows: %lld rows and %lld indices, at "
                         "most 2147483647 of each",
                         (long long)rows, (long long)positions);
    struct scatter_add_op op = {.op = OP_HEADER(scatter_add, dy),
                                .index_rank = args->index->view.rank,
                                .dy = tensor_view(args->dy, ACCESS_READ),
                                .index = tensor_view(args->index, ACCESS_READ),
                                .dx = tensor_view(args->dx, ACCESS_UPDATE)};
    int64_t words = rows + positions;
    st = scratch_get(queue, SSQ_I32, 1, &words, &op.work);
    if (st != SSQ_OK)
        return st;
    op.work.access = ACCESS_UPDATE;
    st = queue_enqueue(queue, &op.op);
    scratch_put(&op.work);
    return st;
}

/* Set *view to index in y's shape. Dimension axis, which index does not have,
 * is inserted with a stride of 0. */
static ssq_status spread_index(const ssq_one_hot_args *args, int axis,
                               struct view *view)
{
    const struct view *x = &args->index->view, *y = &args->y->view;
    *view = tensor_view(args->index, ACCESS_READ);
    bool same = x->rank + 1 == y->rank;
    for (int i = 0; i < y->rank && same; i++) {
        view->shape[i] = y->shape[i];
        view->stride[i] = 0;
        if (i == axis)
            continue;
        int k = i < axis ? i : i - 1;
        view->stride[i] = x->stride[k];
        same = x->shape[k] == y->shape[i];
    }
    view->rank = y->rank;
    if (same)
        return SSQ_OK;
    char tx[128], ty[128];
    return error_set(SSQ_ERR_INVALID,
                     "one_hot: y is %s, expected index, %s, with the classes "
                     "at dimension %d",
                     view_text(y, ty, sizeof(ty)), view_text(x, tx, sizeof(tx)),
                     axis);
}

/* on and off are converted once, here, so that backends store bits. For an
 * index outside the classes the row of y is off. */
ssq_status ssq_one_hot(ssq_queue *queue, const ssq_one_hot_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "one_hot");
    if (st == SSQ_OK)
        st = check_operand(queue, args->index, "one_hot", "index");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "one_hot", "y");
    if (st == SSQ_OK)
        st = check_dtype(args->index, DTYPE_BIT(SSQ_I32), "one_hot", "index");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->index, "index", false, "one_hot");
    struct one_hot_op op = {.op = OP_HEADER(one_hot, index)};
    if (st == SSQ_OK)
        st = check_axis(args->axis, args->y->view.rank, "one_hot", &op.axis);
    if (st == SSQ_OK)
        st = spread_index(args, op.axis, &op.index);
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    op.y = tensor_view(args->y, ACCESS_WRITE);
    struct fpenv env = fpenv_enter();
    op.on = value_bits(args->on, op.y.dtype);
    op.off = value_bits(args->off, op.y.dtype);
    fpenv_leave(env);
    return queue_enqueue(queue, &op.op);
}
