/* SPDX-License-Identifier: Apache-2.0 */
/* direct_parts.c - calls over tensors of which each rank has a part (parts.h),
 * by a library.
 *
 * A sum is one reduce per part, with the part's rank as its root. To gather,
 * each rank broadcasts its part, or sends it to the root. */
#include "lib/comm/direct.h"
#include "lib/comm/parts.h"

#include "lib/core/core.h"

/* Return how many elements of rank r's part of a view are in from .. from + n.
 * Sets *at to the first of them. */
static int64_t within(const ssq_comm *comm, const struct job *job, size_t view,
                      unsigned r, int64_t from, int64_t n, int64_t *at)
{
    *at = size_most(parts_bound(comm, job, view, r), from);
    int64_t end = size_least(parts_bound(comm, job, view, r + 1), from + n);
    return end > *at ? end - *at : 0;
}

/* ---- sums ---- */

/* Add the sums of elements from .. from + n of a view. values has these
 * elements as float32. */
static void add_sums(ssq_comm *comm, const struct job *job, size_t view,
                     int64_t from, int64_t n, const struct view *values,
                     struct moves *m)
{
    for (unsigned r = 0; r < comm->size; r++) {
        int64_t at, some = within(comm, job, view, r, from, n, &at);
        if (some == 0)
            continue;
        struct view part = view_range(values, at - from, some);
        moves_root(m, r);
        moves_add(m, MOVE_REDUCE, ELEMENT_F32, &part, &part, (uint64_t)some);
    }
}

static ssq_status direct_parts_sum_window(ssq_comm *comm, ssq_queue *queue,
                                          const struct job *job, size_t view,
                                          int64_t from,
                                          const struct view *scratch)
{
    int64_t at, n = view_elements(scratch);
    struct view half = view_range(&job->views[view], from, n);
    ssq_status st = enqueue_copy(queue, &half, scratch);
    if (st != SSQ_OK)
        return st;
    struct moves *m = moves_create(comm, job, comm->size);
    if (m != NULL)
        add_sums(comm, job, view, from, n, scratch, m);
    st = moves_enqueue(m, queue);
    int64_t own = within(comm, job, view, comm->rank, from, n, &at);
    if (st != SSQ_OK || own == 0)
        return st;
    struct view sum = view_range(scratch, at - from, own);
    struct view mine = view_range(&job->views[view], at, own);
    return enqueue_copy(queue, &sum, &mine);
}

static ssq_status direct_parts_sum_halves(ssq_comm *comm, ssq_queue *queue,
                                          const struct job *job, size_t view)
{
    struct view scratch;
    int64_t all = view_elements(&job->views[view]);
    int64_t room = size_least(all, DIRECT_SCRATCH);
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &room, &scratch);
    if (st != SSQ_OK)
        return st;
    for (int64_t at = 0; at < all && st == SSQ_OK; at += room) {
        struct view some = view_range(&scratch, 0, size_least(room, all - at));
        st = direct_parts_sum_window(comm, queue, job, view, at, &some);
    }
    scratch_put(&scratch);
    return st;
}

static ssq_status reduce_parts(ssq_comm *comm, ssq_queue *queue,
                               const struct job *job)
{
    struct moves *m = moves_create(comm, job, job->n * comm->size);
    for (size_t i = 0; i < job->n && m != NULL; i++)
        if (job->views[i].dtype == SSQ_F32)
            add_sums(comm, job, i, 0, view_elements(&job->views[i]),
                     &job->views[i], m);
    ssq_status st = moves_enqueue(m, queue);
    for (size_t i = 0; i < job->n && st == SSQ_OK; i++)
        if (job->views[i].dtype != SSQ_F32)
            st = direct_parts_sum_halves(comm, queue, job, i);
    return st;
}

/* ---- gathering ---- */

/* Add the move of rank r's part of a view to all ranks or to the root. */
static void direct_parts_add_part(const ssq_comm *comm, const struct job *job,
                                  size_t view, unsigned r, struct moves *m)
{
    const struct view *v = &job->views[view];
    int64_t at, n = within(comm, job, view, r, 0, view_elements(v), &at);
    bool all = job->root == COMM_ALL;
    bool sends = comm->rank == r, receives = comm->rank == job->root;
    if (n == 0 || (!all && (r == job->root || sends == receives)))
        return;
    struct view part = view_range(v, at, n);
    moves_root(m, all || receives ? r : job->root);
    moves_add(m,
              all     ? MOVE_BROADCAST
              : sends ? MOVE_SEND
                      : MOVE_RECEIVE,
              ELEMENT_BYTE, &part, &part, view_span(&part));
}

static ssq_status gather_parts(ssq_comm *comm, ssq_queue *queue,
                               const struct job *job)
{
    struct moves *m = moves_create(comm, job, job->n * comm->size);
    for (size_t i = 0; i < job->n && m != NULL; i++)
        for (unsigned r = 0; r < comm->size; r++)
            direct_parts_add_part(comm, job, i, r, m);
    return moves_enqueue(m, queue);
}

ssq_status direct_parts(ssq_comm *comm, ssq_queue *queue, const struct job *job)
{
    return job->call == CALL_REDUCE_SCATTER ? reduce_parts(comm, queue, job)
                                            : gather_parts(comm, queue, job);
}
