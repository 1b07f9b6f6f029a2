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
    uint64_t mark;     /* of that record if it was held at a gate; else 0 */
    atomic_uint waits; /* held at gates, for that record */
};

/** True if the backend has made the event's last record. False while the record
 *  is held at a gate. */
bool event_made(const ssq_event *event);

static inline struct object *event_object(ssq_event *event)
{
    return &event->object;
}

/** Call the backend's record and wait, with the queue's lock. */
static inline ssq_status event_record_now(ssq_event *event, ssq_queue *queue)
{
    return queue->device->backend->event_record(event->impl, queue->impl);
}

static inline ssq_status event_wait_now(ssq_event *event, ssq_queue *queue)
{
    return queue->device->backend->event_wait(queue->impl, event->impl);
}

#endif
