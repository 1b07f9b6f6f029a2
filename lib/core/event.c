/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - marks in queues. */
#include "lib/core/gate.h"
#include "lib/core/repeat.h"

/* The record may still be held behind a gate. */
static bool made(const ssq_event *e)
{
    return atomic_load(&e->queue->marked) >= e->mark;
}

/* The backend's event goes before the queue that it was recorded on, and both
 * before the device. */
static void event_free(struct object *o)
{
    ssq_event *e = (ssq_event *)o;
    if (!device_lost(e->device))
        e->device->backend->event_close(e->impl);
    if (e->queue != NULL)
        object_put(&e->queue->object);
    object_put(&e->device->object);
    mem_free(e);
}

ssq_status ssq_event_create(ssq_device *device, ssq_event **event)
{
    if (device == NULL || event == NULL)
        return error_set(SSQ_ERR_INVALID, "event_create: %s is NULL",
                         device == NULL ? "device" : "event");
    ssq_status st = device_check(device, "event_create");
    if (st != SSQ_OK)
        return st;
    ssq_event *e = mem_alloc(sizeof(*e));
    if (e == NULL)
        return error_nomem("event_create", sizeof(*e));
    st = device->backend->event_open(device->impl, &e->impl);
    if (st != SSQ_OK) {
        mem_free(e);
        return st;
    }
    object_init(&e->object, event_free);
    e->device = device;
    object_get(&device->object);
    *event = e;
    return SSQ_OK;
}

void ssq_event_destroy(ssq_event **event)
{
    if (event == NULL || *event == NULL)
        return;
    object_put(&(*event)->object);
    *event = NULL;
}

/* A queue and an event of one device, outside of captures: graphs have no
 * events, their order is that of their ops. */
static ssq_status check_pair(const ssq_queue *q, const ssq_event *e,
                             const char *what)
{
    ssq_status st = queue_check(q, what);
    if (st != SSQ_OK)
        return st;
    if (e == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: event is NULL", what);
    if (e->device != q->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the event is of %s, the queue of %s", what,
                         e->device->props.name, q->device->props.name);
    if (q->capture != NULL)
        return error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                         what);
    return SSQ_OK;
}

/* The event was recorded, and its queue has not failed since: the mark of a
 * failed queue may never be reached. */
static ssq_status check_recorded(const ssq_event *e, const char *what)
{
    if (e == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: event is NULL", what);
    if (e->queue == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: the event was never recorded",
                         what);
    return queue_check(e->queue, what);
}

/* The same, and no graph is being captured on that queue: what the caller
 * waits for may be a part of it. */
static ssq_status check_reachable(const ssq_event *e, const char *what)
{
    ssq_status st = check_recorded(e, what);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&e->queue->lock);
    bool capturing = e->queue->capture != NULL;
    pthread_mutex_unlock(&e->queue->lock);
    if (capturing)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured on the event's queue",
                         what);
    return SSQ_OK;
}

static ssq_status check_made(const ssq_event *e, const char *what)
{
    if (made(e))
        return SSQ_OK;
    ssq_status st = held_reachable(e->queue, what);
    return st == SSQ_OK
               ? error_set(SSQ_ERR_NOT_READY,
                           "%s: a collective is before the event", what)
               : st;
}

/* The new queue is held before the old one is let go of: they may be the
 * same. */
ssq_status ssq_event_record(ssq_event *event, ssq_queue *queue)
{
    ssq_status st = check_pair(queue, event, "event_record");
    if (st == SSQ_OK)
        st = repeat_flush(queue);
    if (st != SSQ_OK)
        return st;
    uint64_t mark = 0;
    pthread_mutex_lock(&queue->lock);
    st = queue->held == NULL ? event_record_now(event, queue)
                             : held_record(queue, event, &mark);
    pthread_mutex_unlock(&queue->lock);
    if (st != SSQ_OK)
        return st;
    object_get(&queue->object);
    if (event->queue != NULL)
        object_put(&event->queue->object);
    event->queue = queue;
    event->mark = mark;
    return SSQ_OK;
}

/* Only the waiting queue is locked, never two at once: the backend's event says
 * all that it has to know of the other one. */
ssq_status ssq_queue_wait(ssq_queue *queue, ssq_event *event)
{
    ssq_status st = check_pair(queue, event, "queue_wait");
    if (st == SSQ_OK)
        st = repeat_flush(queue);
    if (st == SSQ_OK)
        st = check_recorded(event, "queue_wait");
    if (st != SSQ_OK)
        return st;
    bool waits = !made(event);
    pthread_mutex_lock(&queue->lock);
    bool holds = waits || queue->held != NULL;
    if (!holds)
        st = event_wait_now(event, queue);
    pthread_mutex_unlock(&queue->lock);
    return holds ? held_event_wait(queue, event, waits ? event->queue : NULL,
                                   event->mark)
                 : st;
}

/* What is reached lets the queue retire: what was read before it has landed for
 * the caller. */
ssq_status ssq_event_query(ssq_event *event)
{
    ssq_status st = check_reachable(event, "event_query");
    if (st == SSQ_OK)
        st = check_made(event, "event_query");
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&event->queue->lock);
    st = event->device->backend->event_query(event->impl);
    pthread_mutex_unlock(&event->queue->lock);
    if (st != SSQ_OK)
        return st;
    queue_retire(event->queue, false);
    return queue_check(event->queue, "event_query");
}

ssq_status ssq_event_sync(ssq_event *event)
{
    ssq_status st = check_reachable(event, "event_sync");
    if (st == SSQ_OK && !made(event))
        st = held_wait(event->queue, event->mark);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&event->queue->lock);
    st = event->device->backend->event_sync(event->impl);
    pthread_mutex_unlock(&event->queue->lock);
    if (st != SSQ_OK)
        return queue_fail(event->queue, st);
    queue_retire(event->queue, false);
    return queue_check(event->queue, "event_sync");
}

ssq_status ssq_event_elapsed(ssq_event *from, ssq_event *to, double *seconds)
{
    ssq_status st = check_reachable(from, "event_elapsed");
    if (st == SSQ_OK)
        st = check_reachable(to, "event_elapsed");
    if (st == SSQ_OK)
        st = check_made(from, "event_elapsed");
    if (st == SSQ_OK)
        st = check_made(to, "event_elapsed");
    if (st != SSQ_OK)
        return st;
    if (seconds == NULL || from->device != to->device)
        return error_set(SSQ_ERR_INVALID, "event_elapsed: %s",
                         seconds == NULL ? "seconds is NULL"
                                         : "the events are of two devices");
    return from->device->backend->event_elapsed(from->impl, to->impl, seconds);
}
