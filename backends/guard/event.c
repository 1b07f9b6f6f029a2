/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events: each refers to the last mark that was recorded. */

#include "backends/guard/guard.h"

struct backend_event {
    struct backend_device *device;
    struct guard_mark *mark; /* NULL: not recorded yet; the core then calls no
                                function except record */
};

/* Set the error text for memory that is not a buffer, and return
 * SSQ_ERR_NOMEM. */
static ssq_status guard_event_no_memory(size_t bytes)
{
    return guard_core->error_set(SSQ_ERR_NOMEM,
                                 "guard: no host memory for %zu bytes", bytes);
}

ssq_status guard_event_open(struct backend_device *device,
                            struct backend_event **event)
{
    struct backend_event *e = guard_core->mem_alloc(sizeof(*e));
    if (e == NULL)
        return guard_event_no_memory(sizeof(*e));
    e->device = device;
    *event = e;
    return SSQ_OK;
}

/* Free an event. Queues that wait for its last mark hold references to the
 * mark, which may therefore outlive the event. */
void guard_event_close(struct backend_event *event)
{
    pthread_mutex_lock(&event->device->lock);
    guard_mark_put(event->mark);
    pthread_mutex_unlock(&event->device->lock);
    guard_core->mem_free(event);
}

/* Record an event. If it was recorded before, it gets a new mark; queues that
 * wait for the old one still do. */
ssq_status guard_event_record(struct backend_event *event,
                              struct backend_queue *queue)
{
    struct guard_mark *mark = guard_core->mem_alloc(sizeof(*mark));
    if (mark == NULL)
        return guard_event_no_memory(sizeof(*mark));
    mark->refs = 1;
    mark->queue = queue;
    pthread_mutex_lock(&event->device->lock);
    ssq_status st = guard_queue_mark(queue, mark);
    if (st == SSQ_OK) {
        guard_mark_put(event->mark);
        event->mark = mark;
    } else {
        guard_mark_put(mark);
    }
    pthread_mutex_unlock(&event->device->lock);
    return st;
}

ssq_status guard_event_wait(struct backend_queue *queue,
                            struct backend_event *event)
{
    pthread_mutex_lock(&event->device->lock);
    ssq_status st = guard_queue_wait(queue, event->mark);
    pthread_mutex_unlock(&event->device->lock);
    return st;
}

/* Report whether the mark is reached. Never runs a command: a query does not
 * wait. */
ssq_status guard_event_query(struct backend_event *event)
{
    pthread_mutex_lock(&event->device->lock);
    ssq_status st =
        event->mark->done
            ? guard_mark_status(event->mark)
            : guard_core->error_set(SSQ_ERR_NOT_READY,
                                    "guard: the event is not reached yet");
    pthread_mutex_unlock(&event->device->lock);
    return st;
}

/* Run the mark's queue up to the mark. Later commands do not run, as may be the
 * case on a GPU. */
ssq_status guard_event_sync(struct backend_event *event)
{
    pthread_mutex_lock(&event->device->lock);
    guard_mark_run(event->mark);
    ssq_status st = guard_mark_status(event->mark);
    pthread_mutex_unlock(&event->device->lock);
    return st;
}

/* Get the time at which an event's mark was reached. Fails if it is not
 * reached, or if its queue had failed by then. */
static ssq_status guard_event_seconds_of(struct backend_event *event,
                                         double *seconds)
{
    ssq_status st = guard_event_query(event);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&event->device->lock);
    *seconds = event->mark->seconds;
    pthread_mutex_unlock(&event->device->lock);
    return SSQ_OK;
}

/* Get the time between two events. If one of the marks is not reached, or its
 * queue had failed, return the error of the first such event. */
ssq_status guard_event_elapsed(struct backend_event *from,
                               struct backend_event *to, double *seconds)
{
    double begin, end;
    ssq_status st = guard_event_seconds_of(from, &begin);
    if (st == SSQ_OK)
        st = guard_event_seconds_of(to, &end);
    if (st == SSQ_OK)
        *seconds = end - begin;
    return st;
}
