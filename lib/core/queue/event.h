/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - the internals of an event. */
#ifndef LIB_CORE_QUEUE_EVENT_H
#define LIB_CORE_QUEUE_EVENT_H

#include "lib/core/queue/queue.h"

struct ssq_event {
    struct object object;
    ssq_device *device;
    struct backend_event *impl;
    ssq_queue *queue;  /* of the last record, a reference; NULL: no record */
    uint64_t record;   /* its number if it was deferred; else 0 */
    atomic_uint waits; /* deferred waits for that record */
};

/** True if the event's last record was submitted to the backend. False while it
 *  is deferred at a gate. */
bool event_submitted(const ssq_event *event);

static inline struct object *event_object(ssq_event *event)
{
    return &event->object;
}

/** Submit a record of or a wait for the event, with the queue's lock. */
static inline ssq_status event_record_now(ssq_event *event, ssq_queue *queue)
{
    return queue->device->backend->event_record(event->impl, queue->impl);
}

static inline ssq_status event_wait_now(ssq_event *event, ssq_queue *queue)
{
    return queue->device->backend->event_wait(queue->impl, event->impl);
}

#endif
