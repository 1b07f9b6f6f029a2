/* SPDX-License-Identifier: Apache-2.0 */
/* arrange.c - transpose, concat and slice-assign: copies between views.
 *
 * None of them has a separate op. Strides say where elements come from or go
 * to, and enqueue_copy() does the rest. */
#include <sesqui/ops/data.h>

#include "lib/core/queue/queue.h"
#include "lib/core/core.h"

#include <stdio.h>

/* Read axes as dimensions 0..rank-1, each once. Zeros are not a permutation of
 * two dimensions or more. They mean that no axes were named: the order is
 * reversed. */
static ssq_status permutation(const int *axes, int rank, int *result)
{
    bool named = false, seen[SSQ_MAX_RANK] = {false};
    for (int i = 0; i < rank; i++)
        named = named || axes[i] != 0;
    for (int i = 0; i < rank; i++) {
        result[i] = rank - 1 - i;
        ssq_status st =
            named ? check_axis(axes[i], rank, "transpose", &result[i]) : SSQ_OK;
        if (st != SSQ_OK)
            return st;
        if (seen[result[i]])
            return error_set(SSQ_ERR_INVALID,
                             "transpose: axes name dimension %d twice",
                             result[i]);
        seen[result[i]] = true;
    }
    return SSQ_OK;
}

/* Set *view to x's view with its dimensions permuted; it must then have y's
 * shape. A copy of it to y is the transpose. */
static ssq_status permute(const ssq_transpose_args *args, struct view *view)
{
    const struct view *x = &args->x->view, *y = &args->y->view;
    int axes[SSQ_MAX_RANK];
    ssq_status st = permutation(args->axes, x->rank, axes);
    if (st != SSQ_OK)
        return st;
    *view = *x;
    for (int i = 0; i < x->rank; i++) {
        view->shape[i] = x->shape[axes[i]];
        view->stride[i] = x->stride[axes[i]];
    }
    if (view_same_shape(view, y))
        return SSQ_OK;
    char tx[128], ty[128];
    return error_set(SSQ_ERR_INVALID, "transpose: x permuted is %s, y is %s",
                     view_text(view, tx, sizeof(tx)),
                     view_text(y, ty, sizeof(ty)));
}

/* y must not overlap x, not even exactly: elements change places. */
ssq_status ssq_transpose(ssq_queue *queue, const ssq_transpose_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "transpose");
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, "transpose", "x");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "transpose", "y");
    if (st == SSQ_OK)
        st = check_dtype(args->y, DTYPE_BIT(args->x->view.dtype), "transpose",
                         "y");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", false, "transpose");
    struct view x;
    if (st == SSQ_OK)
        st = permute(args, &x);
    return st == SSQ_OK ? enqueue_copy(queue, &x, &args->y->view) : st;
}

/* Refuse x[i] unless it has y's shape; its size along the axis may differ. */
static ssq_status check_piece(const ssq_tensor *x, size_t i,
                              const ssq_tensor *y, int axis)
{
    struct view piece = y->view;
    if (axis < x->view.rank)
        piece.shape[axis] = x->view.shape[axis];
    if (view_same_shape(&piece, &x->view))
        return SSQ_OK;
    char tx[128], ty[128];
    return error_set(SSQ_ERR_INVALID,
                     "concat: x[%zu] is %s, y is %s: they differ in more than "
                     "dimension %d",
                     i, view_text(&x->view, tx, sizeof(tx)),
                     view_text(&y->view, ty, sizeof(ty)), axis);
}

/* Check all inputs of concat. Their sizes along the axis must add up to y's.
 * The remaining size is counted down, so no sum can overflow. */
static ssq_status check_pieces(const ssq_queue *queue,
                               const ssq_concat_args *args, int axis)
{
    int64_t left = args->y->view.shape[axis];
    for (size_t i = 0; i < args->n; i++) {
        char what[32];
        snprintf(what, sizeof(what), "x[%zu]", i);
        const ssq_tensor *x = args->x[i];
        ssq_status st = check_operand(queue, x, "concat", what);
        if (st == SSQ_OK)
            st = check_piece(x, i, args->y, axis);
        if (st == SSQ_OK)
            st = check_alias(args->y, "y", x, what, false, "concat");
        if (st != SSQ_OK)
            return st;
        if (x->view.shape[axis] > left)
            return error_set(SSQ_ERR_INVALID,
                             "concat: x[0] to x[%zu] are longer than y, %lld "
                             "along dimension %d",
                             i, (long long)args->y->view.shape[axis], axis);
        left -= x->view.shape[axis];
    }
    if (left == 0)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "concat: the inputs are %lld short of y, %lld along "
                     "dimension %d",
                     (long long)left, (long long)args->y->view.shape[axis],
                     axis);
}

/* Copy each input to its part of y, or cast it if its dtype differs. Everything
 * is checked before the first copy. */
ssq_status ssq_concat(ssq_queue *queue, const ssq_concat_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "concat");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "concat", "y");
    if (st == SSQ_OK && (args->x == NULL || args->n == 0))
        st = error_set(SSQ_ERR_INVALID, "concat: %s",
                       args->x == NULL ? "x is NULL" : "n is 0");
    int axis = 0;
    if (st == SSQ_OK)
        st = check_axis(args->axis, args->y->view.rank, "concat", &axis);
    if (st == SSQ_OK)
        st = check_pieces(queue, args, axis);
    if (st != SSQ_OK)
        return st;
    struct view part = args->y->view;
    uint64_t pitch = (uint64_t)part.stride[axis] * dtype_bytes(part.dtype);
    st = queue_bundle_begin(queue); /* all copies or none */
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < args->n && st == SSQ_OK; i++) {
        const struct view *x = &args->x[i]->view;
        part.shape[axis] = x->shape[axis];
        st = enqueue_copy(queue, x, &part);
        part.offset += (uint64_t)x->shape[axis] * pitch;
    }
    return queue_bundle_end(queue, st);
}

/* Narrow dimension i of part, which begins as y, to the place of x. The last
 * index is compared without being computed, because start + (n - 1) step may
 * overflow. A dimension of one element keeps its stride, which is never
 * used. */
static ssq_status slice_dimension(const ssq_slice_assign_args *args, int i,
                                  struct view *part)
{
    int64_t start = args->start[i], step = args->step[i];
    int64_t n = args->x->view.shape[i], size = part->shape[i];
    if (start < 0 || step < 1)
        return error_set(SSQ_ERR_INVALID,
                         "slice_assign: start %lld, step %lld in dimension "
                         "%d, expected start >= 0 and step >= 1",
                         (long long)start, (long long)step, i);
    bool fits = n == 0 ? start <= size
                       : start < size && n - 1 <= (size - 1 - start) / step;
    if (!fits)
        return error_set(SSQ_ERR_INVALID,
                         "slice_assign: %lld elements from %lld in steps of "
                         "%lld are outside dimension %d of y, %lld",
                         (long long)n, (long long)start, (long long)step, i,
                         (long long)size);
    part->shape[i] = n;
    if (n > 0)
        part->offset +=
            (uint64_t)(start * part->stride[i]) * dtype_bytes(part->dtype);
    if (n > 1)
        part->stride[i] *= step;
    return SSQ_OK;
}

/* x may have another dtype than y; enqueue_copy() then casts. */
ssq_status ssq_slice_assign(ssq_queue *queue, const ssq_slice_assign_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "slice_assign");
    if (st == SSQ_OK)
        st = check_operand(queue, args->x, "slice_assign", "x");
    if (st == SSQ_OK)
        st = check_output(queue, args->y, "slice_assign", "y");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->x, "x", false, "slice_assign");
    if (st != SSQ_OK)
        return st;
    const struct view *x = &args->x->view;
    struct view part = args->y->view;
    if (x->rank != part.rank)
        return error_set(SSQ_ERR_INVALID,
                         "slice_assign: x has rank %d, y has rank %d", x->rank,
                         part.rank);
    for (int i = 0; i < part.rank && st == SSQ_OK; i++)
        st = slice_dimension(args, i, &part);
    return st == SSQ_OK ? enqueue_copy(queue, x, &part) : st;
}
