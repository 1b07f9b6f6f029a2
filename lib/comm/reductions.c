/* SPDX-License-Identifier: Apache-2.0 */
/* reductions.c - reductions by a library, with the ops that they need.
 *
 * Reductions by the host are in reduce.c. The library sums float32, in its own
 * order, and computes the maximum of i32. The other reductions are built from
 * that:
 *
 *     f16, bf16   are converted to float32 in scratch, summed there, and
 *                 rounded once; as many elements at a time as fit into scratch
 *     a mean      is the sum, scaled by 1 / size in float32
 *     a maximum   of floats: all ranks' values are gathered, and op max
 *                 computes it, because the library's result for NaN and -0 is
 *                 not specified */
#include "lib/comm/direct.h"

#include "lib/op/elementwise/elementwise.h"
#include "lib/op/reduce/reduce_long.h"

static bool reductions_is_half(const struct view *v)
{
    return v->dtype == SSQ_F16 || v->dtype == SSQ_BF16;
}

static ssq_status reductions_mean(const ssq_comm *comm, ssq_queue *queue,
                                  const struct job *job, const struct view *v)
{
    if (job->reduction != SSQ_COMM_MEAN)
        return SSQ_OK;
    struct scale_op op = {.op = OP_HEADER(scale, x),
                          .alpha = 1.0f / (float)comm->size,
                          .x = view_range(v, 0, view_elements(v)),
                          .y = view_range(v, 0, view_elements(v))};
    op.x.access = ACCESS_READ;
    op.y.access = ACCESS_WRITE;
    return queue_enqueue(queue, &op.op);
}

/* ---- float32 and i32, in place ---- */

static ssq_status reductions_in_place(ssq_comm *comm, ssq_queue *queue,
                                      const struct job *job, ssq_dtype dtype)
{
    bool floats = dtype == SSQ_F32;
    struct moves *m = moves_create(comm, job, job->n);
    for (size_t i = 0; i < job->n && m != NULL; i++)
        if (job->views[i].dtype == dtype)
            moves_add(m, floats ? MOVE_SUM : MOVE_MAX,
                      floats ? ELEMENT_F32 : ELEMENT_I32, &job->views[i],
                      &job->views[i], (uint64_t)view_elements(&job->views[i]));
    ssq_status st = moves_enqueue(m, queue);
    for (size_t i = 0; i < job->n && floats && st == SSQ_OK; i++)
        if (job->views[i].dtype == dtype)
            st = reductions_mean(comm, queue, job, &job->views[i]);
    return st;
}

/* ---- 16 bits ---- */

/* A position in a list: element `at` of view i. */
struct at {
    size_t i;
    int64_t at;
};

/* Convert 16-bit elements of the list into scratch, or back: as many as scratch
 * holds, from *at on. Advances *at, and sets *n to their number. */
static ssq_status cast_some(ssq_queue *queue, const struct job *job,
                            const struct view *scratch, struct at *at,
                            int64_t *n, bool in)
{
    ssq_status st = SSQ_OK;
    int64_t room = view_elements(scratch);
    for (*n = 0; at->i < job->n && *n < room && st == SSQ_OK;) {
        const struct view *v = &job->views[at->i];
        int64_t left = reductions_is_half(v) ? view_elements(v) - at->at : 0;
        int64_t some = size_least(left, room - *n);
        struct view half = view_range(v, at->at, some);
        struct view single = view_range(scratch, *n, some);
        if (some > 0)
            st = in ? enqueue_copy(queue, &half, &single)
                    : enqueue_copy(queue, &single, &half);
        *n += some;
        at->at += some;
        if (some == left)
            *at = (struct at){at->i + 1, 0};
    }
    return st;
}

/* Set y to the sum or mean of x: of all of x with MOVE_SUM, of this rank's part
 * with MOVE_SUM_SCATTER. */
static ssq_status sum_by(enum comm_move_kind kind, ssq_comm *comm,
                         ssq_queue *queue, const struct job *job,
                         const struct view *x, const struct view *y)
{
    struct moves *m = moves_create(comm, job, 1);
    if (m != NULL)
        moves_add(m, kind, ELEMENT_F32, x, y, (uint64_t)view_elements(y));
    ssq_status st = moves_enqueue(m, queue);
    return st == SSQ_OK ? reductions_mean(comm, queue, job, y) : st;
}

static ssq_status reductions_sum_halves(ssq_comm *comm, ssq_queue *queue,
                                        const struct job *job)
{
    struct view scratch;
    int64_t all = 0, n = 0;
    for (size_t i = 0; i < job->n; i++)
        all += reductions_is_half(&job->views[i])
                   ? view_elements(&job->views[i])
                   : 0;
    if (all == 0)
        return SSQ_OK;
    int64_t room = size_least(all, DIRECT_SCRATCH);
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &room, &scratch);
    if (st != SSQ_OK)
        return st;
    struct at in = {0, 0}, out = {0, 0};
    for (; all > 0 && st == SSQ_OK; all -= n) {
        st = cast_some(queue, job, &scratch, &in, &n, true);
        struct view some = view_range(&scratch, 0, n);
        if (st == SSQ_OK)
            st = sum_by(MOVE_SUM, comm, queue, job, &some, &some);
        if (st == SSQ_OK)
            st = cast_some(queue, job, &some, &out, &n, false);
    }
    scratch_put(&scratch);
    return st;
}

/* ---- maxima of floats ---- */

/* Set y to the maximum of x over all ranks. gathered has room for the values of
 * all ranks. y NULL: only send x. */
static ssq_status largest(ssq_comm *comm, ssq_queue *queue,
                          const struct job *job, const struct view *x,
                          const struct view *gathered, const struct view *y)
{
    int64_t n = view_elements(x);
    struct moves *m = moves_create(comm, job, 1);
    if (m != NULL)
        moves_add(m, MOVE_GATHER, ELEMENT_BYTE, x, gathered, view_span(x));
    ssq_status st = moves_enqueue(m, queue);
    if (st != SSQ_OK || y == NULL)
        return st;
    struct reduce_op op = {.op = OP_HEADER(reduce, x),
                           .kind = REDUCE_MAX,
                           .kept = 1,
                           .divisor = 1.0f,
                           .x = view_range(gathered, 0, n),
                           .y = view_range(y, 0, n)};
    op.x.rank = 2; /* element, rank */
    op.x.shape[1] = comm->size;
    op.x.stride[1] = n;
    op.x.access = ACCESS_READ;
    op.y.access = ACCESS_WRITE;
    return reduce_enqueue(queue, &op);
}

/* Get scratch for *step elements of each rank. */
static ssq_status gathered_get(const ssq_comm *comm, ssq_queue *queue,
                               ssq_dtype dtype, int64_t elements, int64_t *step,
                               struct view *gathered)
{
    *step = size_least(elements, size_most(DIRECT_SCRATCH / comm->size, 1));
    int64_t room = *step * comm->size;
    return scratch_get(queue, dtype, 1, &room, gathered);
}

static ssq_status max_of(ssq_comm *comm, ssq_queue *queue,
                         const struct job *job, const struct view *v)
{
    struct view gathered;
    int64_t step, all = view_elements(v);
    ssq_status st = gathered_get(comm, queue, v->dtype, all, &step, &gathered);
    if (st != SSQ_OK)
        return st;
    for (int64_t at = 0; at < all && st == SSQ_OK; at += step) {
        struct view part = view_range(v, at, size_least(step, all - at));
        st = largest(comm, queue, job, &part, &gathered, &part);
    }
    scratch_put(&gathered);
    return st;
}

ssq_status direct_all_reduce(ssq_comm *comm, ssq_queue *queue,
                             const struct job *job)
{
    if (job->reduction != SSQ_COMM_MAX) {
        ssq_status st = reductions_in_place(comm, queue, job, SSQ_F32);
        return st == SSQ_OK ? reductions_sum_halves(comm, queue, job) : st;
    }
    ssq_status st = reductions_in_place(comm, queue, job, SSQ_I32);
    for (size_t i = 0; i < job->n && st == SSQ_OK; i++)
        if (job->views[i].dtype != SSQ_I32)
            st = max_of(comm, queue, job, &job->views[i]);
    return st;
}

/* ---- scattered ---- */

/* Sum n elements of each rank's part, from element `at` on. Scratch has them
 * side by side, as float32. */
static ssq_status scatter_some(ssq_comm *comm, ssq_queue *queue,
                               const struct job *job,
                               const struct view *scratch, int64_t at,
                               int64_t n)
{
    const struct view *x = &job->views[0], *y = &job->views[1];
    int64_t part = view_elements(y);
    ssq_status st = SSQ_OK;
    for (unsigned r = 0; r < comm->size && st == SSQ_OK; r++) {
        struct view from = view_range(x, part * r + at, n);
        struct view to = view_range(scratch, n * r, n);
        st = enqueue_copy(queue, &from, &to);
    }
    struct view all = view_range(scratch, 0, n * comm->size);
    struct view sum = view_range(scratch, n * comm->size, n);
    struct view own = view_range(y, at, n);
    if (st == SSQ_OK)
        st = sum_by(MOVE_SUM_SCATTER, comm, queue, job, &all, &sum);
    return st == SSQ_OK ? enqueue_copy(queue, &sum, &own) : st;
}

static ssq_status scatter_halves(ssq_comm *comm, ssq_queue *queue,
                                 const struct job *job)
{
    struct view scratch;
    int64_t part = view_elements(&job->views[1]);
    int64_t step =
        size_least(part, size_most(DIRECT_SCRATCH / (comm->size + 1), 1));
    int64_t room = step * (comm->size + 1);
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &room, &scratch);
    if (st != SSQ_OK)
        return st;
    for (int64_t at = 0; at < part && st == SSQ_OK; at += step)
        st = scatter_some(comm, queue, job, &scratch, at,
                          size_least(step, part - at));
    scratch_put(&scratch);
    return st;
}

/* Scatter a maximum. The library has none for floats, and i32 is rare. So
 * all ranks gather a window of one rank's part at a time, and that rank
 * keeps the maximum. */
static ssq_status scatter_max(ssq_comm *comm, ssq_queue *queue,
                              const struct job *job)
{
    const struct view *x = &job->views[0], *y = &job->views[1];
    struct view gathered;
    int64_t step, part = view_elements(y);
    ssq_status st = gathered_get(comm, queue, x->dtype, part, &step, &gathered);
    if (st != SSQ_OK)
        return st;
    for (unsigned r = 0; r < comm->size; r++)
        for (int64_t at = 0; at < part && st == SSQ_OK; at += step) {
            int64_t n = size_least(step, part - at);
            struct view from = view_range(x, part * r + at, n);
            struct view to = view_range(y, at, n);
            st = largest(comm, queue, job, &from, &gathered,
                         r == comm->rank ? &to : NULL);
        }
    scratch_put(&gathered);
    return st;
}

ssq_status direct_reduce_scatter(ssq_comm *comm, ssq_queue *queue,
                                 const struct job *job)
{
    const struct view *x = &job->views[0], *y = &job->views[1];
    if (view_elements(y) == 0)
        return SSQ_OK;
    if (job->reduction == SSQ_COMM_MAX)
        return scatter_max(comm, queue, job);
    return x->dtype == SSQ_F32
               ? sum_by(MOVE_SUM_SCATTER, comm, queue, job, x, y)
               : scatter_halves(comm, queue, job);
}
