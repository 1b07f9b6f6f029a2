/* SPDX-License-Identifier: Apache-2.0 */
/* event_calls.c - completion events of queues. */
#include "lib/core/queue/event.h"
#include "lib/core/queue/gate.h"
#include "lib/core/queue/pending.h"
#include "lib/core/queue/replay.h"

bool event_submitted(const ssq_event *e)
{
    return atomic_load(&e->queue->deferred.records_submitted) >= e->record;
}

/* Close the backend's event before releasing the queue that it was recorded on.
 * Release the device last. */
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

/* Check that a queue and an event are of one device, and that no graph is being
 * captured. Graphs have no events: their ops are in order. */
static ssq_status event_check_pair(const ssq_queue *q, const ssq_event *e,
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
    if (q->capture.graph != NULL)
        return error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                         what);
    return SSQ_OK;
}

/* Check that the event was recorded, and that its queue has not failed since: a
 * failed queue may never reach the record. */
static ssq_status check_recorded(const ssq_event *e, const char *what)
{
    if (e == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: event is NULL", what);
    if (e->queue == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: the event was never recorded",
                         what);
    return queue_check(e->queue, what);
}

/* The same, and check that no graph is being captured on that queue: the work
 * that the caller waits for may be part of the graph. */
static ssq_status check_reachable(const ssq_event *e, const char *what)
{
    ssq_status st = check_recorded(e, what);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&e->queue->lock);
    bool capturing = e->queue->capture.graph != NULL;
    pthread_mutex_unlock(&e->queue->lock);
    if (capturing)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured on the event's queue",
                         what);
    return SSQ_OK;
}

static ssq_status event_check_submitted(const ssq_event *e, const char *what)
{
    if (event_submitted(e))
        return SSQ_OK;
    ssq_status st = deferred_check_fork(e->queue, what);
    return st == SSQ_OK
               ? error_set(SSQ_ERR_NOT_READY,
                           "%s: a collective is before the event", what)
               : st;
}

/* Get a reference to the new queue before dropping the old one, because they
 * may be the same queue. */
ssq_status ssq_event_record(ssq_event *event, ssq_queue *queue)
{
    ssq_status st = event_check_pair(queue, event, "event_record");
    /* The record would be submitted when the gate opens, after the new one. */
    if (st == SSQ_OK && event->queue != NULL && event->queue != queue &&
        !event_submitted(event))
        st = error_set(SSQ_ERR_INVALID,
                       "event_record: the event's record on another queue "
                       "waits for a collective: use another event");
    /* A deferred wait reads the backend's event when the gate opens. */
    if (st == SSQ_OK && event->queue != NULL && event->queue != queue &&
        atomic_load(&event->waits) > 0)
        st = error_set(SSQ_ERR_INVALID,
                       "event_record: a queue's wait for the event's record on "
                       "another queue is behind a collective: use another "
                       "event");
    if (st == SSQ_OK)
        st = replay_flush(queue);
    if (st != SSQ_OK)
        return st;
    uint64_t record = 0;
    pthread_mutex_lock(&queue->lock);
    st = queue->deferred.first == NULL
             ? event_record_now(event, queue)
             : deferred_add_record(queue, event, &record);
    pthread_mutex_unlock(&queue->lock);
    if (st != SSQ_OK)
        return st;
    object_get(&queue->object);
    if (event->queue != NULL)
        object_put(&event->queue->object);
    event->queue = queue;
    event->record = record;
    return SSQ_OK;
}

/* Lock only the waiting queue, never two queues: the backend's event contains
 * all that is needed about the other queue. */
ssq_status ssq_queue_wait(ssq_queue *queue, ssq_event *event)
{
    ssq_status st = event_check_pair(queue, event, "queue_wait");
    if (st == SSQ_OK)
        st = replay_flush(queue);
    if (st == SSQ_OK)
        st = check_recorded(event, "queue_wait");
    if (st != SSQ_OK)
        return st;
    bool waits = !event_submitted(event);
    if (waits) /* in a child of fork it would wait forever */
        st = deferred_check_fork(event->queue, "queue_wait");
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&queue->lock);
    bool defers = waits || queue->deferred.first != NULL;
    if (!defers)
        st = event_wait_now(event, queue);
    pthread_mutex_unlock(&queue->lock);
    return defers ? deferred_add_wait(queue, event, waits ? event->queue : NULL,
                                      event->record)
                  : st;
}

/* Query the event or wait for it, with the queue's lock. */
static ssq_status event_call(ssq_event *e,
                             ssq_status (*call)(struct backend_event *event))
{
    const struct backend *b = e->device->backend;
    pthread_mutex_lock(&e->queue->lock);
    ssq_status st = call(e->impl);
    if (st == SSQ_OK && b->event_reached != NULL)
        b->event_reached(e->queue->impl, e->impl);
    pthread_mutex_unlock(&e->queue->lock);
    return st;
}

/* If the event is reached, retire finished work of its queue: data that was
 * read before the event has then arrived for the caller. */
ssq_status ssq_event_query(ssq_event *event)
{
    ssq_status st = check_reachable(event, "event_query");
    if (st == SSQ_OK)
        st = event_check_submitted(event, "event_query");
    if (st != SSQ_OK)
        return st;
    st = event_call(event, event->device->backend->event_query);
    if (st != SSQ_OK) /* others do not end the queue: not ready, no memory */
        return st == SSQ_ERR_DEVICE ? queue_fail(event->queue, st) : st;
    queue_retire(event->queue, false);
    return queue_check(event->queue, "event_query");
}

ssq_status ssq_event_sync(ssq_event *event)
{
    ssq_status st = check_reachable(event, "event_sync");
    if (st == SSQ_OK && !event_submitted(event))
        st = deferred_wait(event->queue, event->record, "event_sync");
    if (st != SSQ_OK)
        return st;
    st = event_call(event, event->device->backend->event_sync);
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
        st = event_check_submitted(from, "event_elapsed");
    if (st == SSQ_OK)
        st = event_check_submitted(to, "event_elapsed");
    if (st != SSQ_OK)
        return st;
    if (seconds == NULL || from->device != to->device)
        return error_set(SSQ_ERR_INVALID, "event_elapsed: %s",
                         seconds == NULL ? "seconds is NULL"
                                         : "the events are of two devices");
    return from->device->backend->event_elapsed(from->impl, to->impl, seconds);
}
