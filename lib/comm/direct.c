/* SPDX-License-Identifier: Apache-2.0 */
/* direct.c - calls that a library for the devices runs by itself.
 *
 * A call becomes ops of the queue: conversions before and after (reductions.c),
 * and between them a place where the library enqueues its work
 * (lib/core/queue/call.h). So a call can be deferred at gates, captured
 * and launched as ops are. All ranks must submit the same calls in the same
 * order. Therefore a call on another queue than the last call waits for that
 * queue. */
#include "lib/comm/direct.h"

#include "lib/core/core.h"
#include "lib/core/queue/progress.h"
#include "lib/core/queue/replay.h"

/* ---- calls ---- */

static ssq_status direct_broadcast(ssq_comm *comm, ssq_queue *queue,
                                   const struct job *job)
{
    struct moves *m = moves_create(comm, job, job->n);
    for (size_t i = 0; i < job->n && m != NULL; i++)
        moves_add(m, MOVE_BROADCAST, ELEMENT_BYTE, &job->views[i],
                  &job->views[i], view_span(&job->views[i]));
    return moves_enqueue(m, queue);
}

static ssq_status all_gather(ssq_comm *comm, ssq_queue *queue,
                             const struct job *job)
{
    const struct view *x = &job->views[0], *y = &job->views[1];
    struct moves *m = moves_create(comm, job, 1);
    if (m != NULL && view_elements(x) > 0)
        moves_add(m, MOVE_GATHER, ELEMENT_BYTE, x, y, view_span(x));
    return moves_enqueue(m, queue);
}

/* Sum one element: no rank has the sum before all ranks have come. */
static ssq_status barrier(ssq_comm *comm, ssq_queue *queue,
                          const struct job *job)
{
    struct view v;
    const int64_t one = 1;
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &one, &v);
    if (st != SSQ_OK)
        return st;
    st = enqueue_fill(queue, &v, 0.0);
    if (st == SSQ_OK) {
        struct moves *m = moves_create(comm, job, 1);
        if (m != NULL)
            moves_add(m, MOVE_SUM, ELEMENT_F32, &v, &v, 1);
        st = moves_enqueue(m, queue);
    }
    scratch_put(&v);
    return st;
}

static ssq_status enqueue_ops(ssq_comm *comm, ssq_queue *queue,
                              const struct job *job)
{
    if (job->parts != NULL)
        return direct_parts(comm, queue, job);
    switch (job->call) {
    case CALL_BROADCAST:
        return direct_broadcast(comm, queue, job);
    case CALL_ALL_REDUCE:
        return direct_all_reduce(comm, queue, job);
    case CALL_REDUCE_SCATTER:
        return direct_reduce_scatter(comm, queue, job);
    case CALL_ALL_GATHER:
        return all_gather(comm, queue, job);
    default:
        return barrier(comm, queue, job);
    }
}

/* Make queue wait for last, so that last's calls are submitted first. This is
 * not needed if last has failed, because it submits nothing. A capture cannot
 * have events: the launches determine its order. */
static ssq_status direct_wait_for(ssq_queue *last, ssq_queue *queue)
{
    ssq_event *e = NULL;
    bool recorded = false;
    if (queue_capturing(queue) || queue_capturing(last) ||
        queue_check(last, "comm") != SSQ_OK ||
        queue_recorded(last, &recorded) != SSQ_OK || recorded)
        return SSQ_OK;
    ssq_status st = ssq_event_create(queue->device, &e);
    if (st == SSQ_OK)
        st = ssq_event_record(e, last);
    if (st == SSQ_OK)
        st = ssq_queue_wait(queue, e);
    ssq_event_destroy(&e);
    return st;
}

/* A queue that no longer exists has no work in flight. */
ssq_status direct_follow(const ssq_comm *comm, ssq_queue *queue)
{
    const struct direct *d = comm->direct;
    if (d->last == NULL || d->last == queue->progress)
        return SSQ_OK;
    ssq_queue *last = progress_queue(d->last);
    if (last == NULL)
        return SSQ_OK;
    ssq_status st = direct_wait_for(last, queue);
    object_put(&last->object);
    return st;
}

void direct_set_last(ssq_comm *comm, const ssq_queue *queue)
{
    struct direct *d = comm->direct;
    if (d->last == queue->progress)
        return;
    progress_put(d->last);
    d->last = progress_get(queue->progress);
}

/* While the program records the queue, no event may be enqueued on it: the
 * program must order its queues itself. */
static ssq_status enqueue_all(ssq_comm *comm, ssq_queue *queue,
                              const struct job *job)
{
    bool recorded = false;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st == SSQ_OK && !recorded)
        st = direct_follow(comm, queue);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    return queue_bundle_end(queue, enqueue_ops(comm, queue, job));
}

ssq_status direct_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job)
{
    job->number = ++comm->number;
    ssq_status st = replay_pause(queue);
    if (st == SSQ_OK) {
        st = enqueue_all(comm, queue, job);
        replay_resume(queue);
    }
    if (st == SSQ_OK)
        direct_set_last(comm, queue);
    job_free(job);
    return st;
}

/* ---- creation and destruction ---- */

static void direct_free(struct object *o)
{
    struct direct *d = (struct direct *)o;
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->watch);
    pthread_mutex_destroy(&d->lock);
    mem_free(d);
}

ssq_status direct_create(ssq_comm *comm)
{
    struct direct *d = mem_alloc(sizeof(*d));
    if (d == NULL)
        return error_nomem("comm", sizeof(*d));
    object_init(&d->object, direct_free);
    pthread_mutex_init(&d->lock, NULL);
    d->comm = comm;
    ssq_status st = watch_start(d);
    if (st != SSQ_OK) {
        object_put(&d->object);
        return st;
    }
    comm->direct = d;
    comm->fail = watch_fail;
    return SSQ_OK;
}

void direct_destroy(ssq_comm *comm)
{
    struct direct *d = comm->direct;
    if (d == NULL)
        return;
    watch_stop(d);
    pthread_mutex_lock(&d->lock);
    d->comm = NULL;
    pthread_mutex_unlock(&d->lock);
    progress_put(d->last);
    comm->fail = NULL;
    comm->direct = NULL;
    object_put(&d->object);
}
