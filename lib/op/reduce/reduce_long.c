/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_long.c - reductions whose operands are too long for a launch.
 *
 * A window has whole rows of reduced elements. If a single row is too long, it
 * is cut into pieces. Each is reduced to one element of a scratch tensor. That
 * is then reduced, in pieces again if necessary. Pieces are chunks of
 * kernels/reduce/norm.h if those fit, so that an even row is folded in the
 * order written there. Smaller pieces make no chain of additions longer. */
#include "lib/op/reduce/reduce_long.h"

#include "kernels/reduce/norm.h"
#include "lib/op/list.h"
#include "lib/op/reduce/pieces.h"
#include "lib/op/reduce/reduce_axes.h"

/* Choose the reduced dimension that is cut, and the size of its pieces. A piece
 * is a chunk, halved until it fits. The dimension is the outermost one that has
 * a fitting piece of two elements or more. Returns false if none fits: a launch
 * cannot see even two elements. */
static bool reduce_long_choose(ssq_queue *queue, const struct reduce_op *op,
                               struct pieces *p)
{
    for (int d = op->kept; d < op->x.rank; d++) {
        struct view part = view_part(&op->x, d, op->x.rank);
        int64_t n = part.shape[0];
        for (int64_t k = n < FOLD_CHUNK ? n : FOLD_CHUNK; k > 0; k /= 2) {
            part.shape[0] = k;
            if (view_elements(&part) < 2 || !piece_fits(queue, &part))
                continue;
            *p = pieces_of(&op->x, d, k);
            return true;
        }
    }
    return false;
}

/* Reduce each piece into work: [pieces, dimensions of x before the cut]. */
static ssq_status first_stage(ssq_queue *queue, const struct reduce_op *op,
                              const struct pieces *p, const struct view *work)
{
    struct reduce_op part = *op;
    part.kind = op->kind == REDUCE_MEAN ? REDUCE_SUM : op->kind;
    part.x = pieces_full(&op->x, p);
    part.kept = p->dim + 1;
    part.y = *work;
    part.y.shape[0] = p->full;
    ssq_status st = queue_enqueue(queue, &part.op);
    if (st != SSQ_OK || p->rest == 0)
        return st;
    part.x = pieces_rest(&op->x, p);
    part.kept = p->dim;
    part.y = view_part(work, 1, work->rank);
    part.y.offset +=
        (uint64_t)(p->full * work->stride[0]) * dtype_bytes(work->dtype);
    return queue_enqueue(queue, &part.op);
}

/* Return the reduction of work into op->y: kept dimensions, pieces, the
 * rest. */
static struct reduce_op second_stage(const struct reduce_op *op,
                                     const struct view *work)
{
    struct reduce_op last = *op;
    last.x = *work;
    last.x.access = ACCESS_READ;
    for (int i = 0; i < op->kept; i++) {
        last.x.shape[i] = work->shape[i + 1];
        last.x.stride[i] = work->stride[i + 1];
    }
    last.x.shape[op->kept] = work->shape[0];
    last.x.stride[op->kept] = work->stride[0];
    struct view *split[] = {&last.x}, *kept[] = {&last.y};
    axes_collapse(split, 1, kept, 1, &last.kept);
    return last;
}

/* Enqueue directly an op that a launch or windows can see, or that cannot be
 * cut any more; queue_enqueue() refuses the latter, with the numbers. Otherwise
 * reduce pieces to scratch, and then reduce the scratch. A piece has at least
 * two elements, so the count halves at each stage and the recursion ends.
 * Scratch is float32, to round sums once. For extremes, which are exact, it has
 * x's dtype. */
ssq_status reduce_enqueue(ssq_queue *queue, struct reduce_op *op)
{
    struct pieces p;
    struct view work;
    if (op_splits(queue, &op->op) || op->x.rank == SSQ_MAX_RANK ||
        !reduce_long_choose(queue, op, &p))
        return queue_enqueue(queue, &op->op);
    int64_t shape[SSQ_MAX_RANK] = {pieces_count(&p)};
    for (int i = 0; i < p.dim; i++)
        shape[i + 1] = op->x.shape[i];
    bool exact = op->kind == REDUCE_MAX || op->kind == REDUCE_MIN;
    ssq_status st = scratch_get(queue, exact ? op->x.dtype : SSQ_F32, p.dim + 1,
                                shape, &work);
    if (st != SSQ_OK)
        return st;
    st = queue_bundle_begin(queue);
    if (st == SSQ_OK) {
        struct reduce_op last = second_stage(op, &work);
        st = first_stage(queue, op, &p, &work);
        if (st == SSQ_OK)
            st = reduce_enqueue(queue, &last);
        st = queue_bundle_end(queue, st);
    }
    scratch_put(&work);
    return st;
}

/* Return the slices of x's first dimension in a piece: a power of two of them
 * that makes whole chunks, as many as fit. 0: do not cut. */
static int64_t reduce_long_slices(ssq_queue *queue, const struct view *x)
{
    struct view part = *x;
    int64_t k = FOLD_CHUNK, row = view_elements(x) / x->shape[0];
    for (; k > 1 && row % 2 == 0; row /= 2)
        k /= 2;
    part.shape[0] = k;
    if (k >= x->shape[0] || !piece_fits(queue, &part))
        return 0;
    for (; 2 * k < x->shape[0]; k *= 2) {
        part.shape[0] = 2 * k;
        if (!piece_fits(queue, &part))
            break;
    }
    return k;
}

/* If x is too long, one op gets its pieces as a list. It binds each piece alone
 * and folds all of them as if they were one. The queued op holds the list, so
 * this reference is dropped. */
ssq_status norm_enqueue(ssq_queue *queue, struct norm_op *op)
{
    int64_t k =
        op_splits(queue, &op->op) ? 0 : reduce_long_slices(queue, &op->x);
    if (k == 0)
        return queue_enqueue(queue, &op->op);
    struct norm_op whole = *op;
    struct pieces p = pieces_of(&op->x, 0, k);
    struct view_list *list = list_create((size_t)pieces_count(&p), "norm");
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0; i < list->n; i++) {
        struct view part = op->x;
        part.offset +=
            i * (uint64_t)(k * op->x.stride[0]) * dtype_bytes(op->x.dtype);
        part.shape[0] = i < (size_t)p.full ? k : p.rest;
        list_set(list, i, &part, ACCESS_READ);
    }
    whole.x.buffer = NULL;
    whole.op.list = list;
    ssq_status st = queue_enqueue(queue, &whole.op);
    object_put(&list->object);
    return st;
}
