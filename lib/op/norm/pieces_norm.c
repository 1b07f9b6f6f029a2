/* SPDX-License-Identifier: Apache-2.0 */
/* pieces_norm.c - batch norm and group norm of an x that is too large for a
 * launch.
 *
 * The examples of a group norm are independent. A batch whose statistics are
 * pooled is cut along any dimension except the channels; its pieces are
 * parts. */
#include <sesqui/ops/reduce.h>

#include "lib/core/memory/pool.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/window.h"
#include "lib/core/core.h"
#include "lib/op/norm/channel_norm.h"

/* For each of the two ops, the views with elements of examples (X), and the
 * views with their statistics (SETS). */
#define FORWARD_X     (1u << 0 | 1u << 5)
#define FORWARD_SETS  (1u << 6 | 1u << 7)
#define BACKWARD_X    (1u << 0 | 1u << 4 | 1u << 5)
#define BACKWARD_SETS (1u << 2 | 1u << 3)

/** The state of a loop over pieces. */
struct pieces_norm_walk {
    ssq_queue *queue;
    const struct view *rows; /* one row per piece */
    int64_t n;               /* pieces so far */
};

static uint64_t pieces_norm_limit_of(const ssq_queue *queue)
{
    return pool_binding_bytes(ssq_queue_device(queue)->pool);
}

static ssq_status each_piece(struct op *op, bool pooled, unsigned x,
                             unsigned sets, window_fn each,
                             struct pieces_norm_walk *walk)
{
    const struct window_cut cut = {.walked = pooled ? x : x | sets,
                                   .dims = pooled ? ~2u : 1u};
    walk->n = 0;
    return window_cuts(op, &cut, pieces_norm_limit_of(walk->queue), each, walk);
}

static ssq_status pieces_norm_count(void *user, struct op *op)
{
    struct pieces_norm_walk *w = user;
    (void)op;
    w->n++;
    return SSQ_OK;
}

/* Get scratch with `words` words for each piece. */
static ssq_status rows_get(const struct pieces_norm_walk *w, int64_t words,
                           struct view *rows)
{
    const int64_t shape[] = {w->n, words};
    return scratch_get(w->queue, SSQ_F32, 2, shape, rows);
}

static struct view next_row(struct pieces_norm_walk *w)
{
    const int64_t words = w->rows->shape[1];
    return floats_of(w->rows, w->n++ * words, words, ACCESS_UPDATE);
}

/* ---- forward ---- */

/* Enqueue an op that is already a piece. */
static ssq_status pieces_norm_enqueue_norm(ssq_queue *queue,
                                           const struct channel_norm_op *op)
{
    struct channel_norm_op whole = *op;
    return queue_enqueue(queue, &whole.op);
}

/* Enqueue a piece. Only the first one writes statistics that all pieces
 * share. */
static ssq_status pieces_norm_normalise(void *user, struct op *op)
{
    struct pieces_norm_walk *w = user;
    struct channel_norm_op piece = *(const struct channel_norm_op *)op;
    bool first = w->n++ == 0;
    if (piece.pooled && !first) {
        if (piece.y.buffer == NULL)
            return SSQ_OK;
        piece.mean.buffer = piece.rstd.buffer = NULL;
        if (!piece.given)
            piece.running_mean.buffer = piece.running_var.buffer = NULL;
    }
    return queue_enqueue(w->queue, &piece.op);
}

static ssq_status pieces_norm_find(void *user, struct op *op)
{
    struct pieces_norm_walk *w = user;
    const struct view own = next_row(w);
    return part_find(w->queue, (const struct channel_norm_op *)op, &own,
                     pieces_norm_enqueue_norm);
}

/* Find the statistics of an x that is one piece although y is several. Plain
 * statistics are the same bits that backward recomputes. y is normalised with
 * the mean and the variance of `own`. */
static ssq_status pieces_norm_find_one(struct pieces_norm_walk *w,
                                       const struct channel_norm_op *op,
                                       const struct view *own)
{
    const int64_t c = op->x.shape[1];
    struct channel_norm_op stats = *op, rest = *op;
    bool wanted = op->mean.buffer != NULL || op->rstd.buffer != NULL ||
                  op->running_mean.buffer != NULL;
    ssq_status st = part_find(w->queue, op, own, pieces_norm_enqueue_norm);
    stats.y.buffer = NULL;
    if (st == SSQ_OK && wanted)
        st = pieces_norm_enqueue_norm(w->queue, &stats);
    rest.mean.buffer = rest.rstd.buffer = NULL;
    rest.given = true;
    rest.running_mean = floats_of(own, 0, c, ACCESS_READ);
    rest.running_var = floats_of(own, 2 * c, c, ACCESS_READ);
    if (st == SSQ_OK)
        st = each_piece(&rest.op, true, FORWARD_X, FORWARD_SETS,
                        pieces_norm_normalise, w);
    return st;
}

/* Compute and merge the statistics of all pieces. x alone determines how it is
 * cut, so backward recomputes the same bits. */
static ssq_status find_all(struct pieces_norm_walk *w,
                           const struct channel_norm_op *op)
{
    const int64_t words = 3 * op->x.shape[1] + 1;
    struct view rows;
    struct channel_norm_op stats = *op;
    struct view *views[] = {&stats.x};
    stats.y.buffer = NULL;
    channel_merge_spatial(views, 1);
    ssq_status st = each_piece(&stats.op, true, FORWARD_X, FORWARD_SETS,
                               pieces_norm_count, w);
    if (st == SSQ_OK)
        st = rows_get(w, words, &rows);
    if (st != SSQ_OK)
        return st;
    if (w->n == 1) {
        const struct view own = floats_of(&rows, 0, words, ACCESS_UPDATE);
        st = pieces_norm_find_one(w, op, &own);
    } else {
        w->rows = &rows;
        st = each_piece(&stats.op, true, FORWARD_X, FORWARD_SETS,
                        pieces_norm_find, w);
        if (st == SSQ_OK)
            st = parts_merge(w->queue, op, &rows, pieces_norm);
    }
    scratch_put(&rows);
    return st;
}

ssq_status pieces_norm(ssq_queue *queue, const struct channel_norm_op *op)
{
    struct pieces_norm_walk w = {.queue = queue};
    struct channel_norm_op whole = *op;
    if (window_fits(&op->op, pieces_norm_limit_of(queue)))
        return pieces_norm_enqueue_norm(queue, op);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (op->pooled && !op->given && op->found.buffer == NULL)
        st = find_all(&w, &whole);
    else
        st = each_piece(&whole.op, op->pooled, FORWARD_X, FORWARD_SETS,
                        pieces_norm_normalise, &w);
    return queue_bundle_end(queue, st);
}

/* ---- backward ---- */

static ssq_status enqueue_gradient(ssq_queue *queue,
                                   const struct channel_norm_backward_op *op)
{
    struct channel_norm_backward_op whole = *op;
    return queue_enqueue(queue, &whole.op);
}

static ssq_status pieces_norm_gradient(void *user, struct op *op)
{
    struct pieces_norm_walk *w = user;
    return queue_enqueue(w->queue, op);
}

static ssq_status pieces_norm_sum(void *user, struct op *op)
{
    struct pieces_norm_walk *w = user;
    const struct view own = next_row(w);
    return part_sums(w->queue, (const struct channel_norm_backward_op *)op,
                     &own, enqueue_gradient);
}

/* Add the sums of dy and of dy z of all pieces into sums[2 c + 1]. Copies them
 * to dbeta and dgamma, if present. */
static ssq_status pieces_norm_sum_all(struct pieces_norm_walk *w,
                                      const struct channel_norm_backward_op *op,
                                      const struct view *sums)
{
    const int64_t c = op->x.shape[1];
    struct channel_norm_backward_op part = *op;
    struct view rows, elements = floats_of(sums, 2 * c, 1, ACCESS_WRITE);
    const struct view dy = floats_of(sums, 0, c, ACCESS_READ);
    const struct view dy_z = floats_of(sums, c, c, ACCESS_READ);
    part.dx.buffer = part.dgamma.buffer = part.dbeta.buffer = NULL;
    ssq_status st = each_piece(&part.op, op->pooled, BACKWARD_X, BACKWARD_SETS,
                               pieces_norm_count, w);
    if (st == SSQ_OK)
        st = rows_get(w, 2 * c + 1, &rows);
    if (st != SSQ_OK)
        return st;
    w->rows = &rows;
    st = each_piece(&part.op, op->pooled, BACKWARD_X, BACKWARD_SETS,
                    pieces_norm_sum, w);
    const ssq_tensor x = {.view = rows}, y = {.view = *sums}; /* borrowed */
    if (st == SSQ_OK)
        st = ssq_sum(w->queue,
                     SSQ_SUM(.x = &x, .y = &y, .axes = {0}, .n_axes = 1));
    if (st == SSQ_OK) /* the sum of the counts may be rounded */
        st =
            enqueue_fill(w->queue, &elements, (double)channel_elements(&op->x));
    if (st == SSQ_OK && op->dbeta.buffer != NULL)
        st = enqueue_copy(w->queue, &dy, &op->dbeta);
    if (st == SSQ_OK && op->dgamma.buffer != NULL)
        st = enqueue_copy(w->queue, &dy_z, &op->dgamma);
    scratch_put(&rows);
    return st;
}

/* Compute the sums first, because dx may be x or dy. */
static ssq_status
pieces_norm_backward(struct pieces_norm_walk *w,
                     const struct channel_norm_backward_op *op)
{
    const int64_t words = 2 * op->x.shape[1] + 1;
    struct channel_norm_backward_op rest = *op;
    struct view sums = {.buffer = NULL};
    bool averages = op->pooled && !op->given && op->dx.buffer != NULL &&
                    op->average.buffer == NULL;
    bool summed =
        averages || op->dgamma.buffer != NULL || op->dbeta.buffer != NULL;
    ssq_status st =
        summed ? scratch_get(w->queue, SSQ_F32, 1, &words, &sums) : SSQ_OK;
    if (st == SSQ_OK && summed)
        st = pieces_norm_sum_all(w, op, &sums);
    rest.dgamma.buffer = rest.dbeta.buffer = NULL;
    if (st == SSQ_OK && averages)
        st = parts_gradient(w->queue, op, &sums, pieces_gradient);
    else if (st == SSQ_OK && op->dx.buffer != NULL)
        st = each_piece(&rest.op, op->pooled, BACKWARD_X, BACKWARD_SETS,
                        pieces_norm_gradient, w);
    scratch_put(&sums);
    return st;
}

ssq_status pieces_gradient(ssq_queue *queue,
                           const struct channel_norm_backward_op *op)
{
    struct pieces_norm_walk w = {.queue = queue};
    if (window_fits(&op->op, pieces_norm_limit_of(queue)))
        return enqueue_gradient(queue, op);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    return queue_bundle_end(queue, pieces_norm_backward(&w, op));
}
