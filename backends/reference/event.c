/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events of devices whose calls return when their work is done. An
 * event is a time. */
#include "backends/reference/reference.h"

#include "lib/core/base/error.h"

#include <time.h>

/* The time at which it was recorded. All earlier work was finished then. */
struct backend_event {
    double seconds;
};

ssq_status reference_event_open(struct backend_device *device,
                                struct backend_event **event)
{
    (void)device;
    struct backend_event *e = mem_alloc(sizeof(*e));
    if (e == NULL)
        return error_nomem("event", sizeof(*e));
    *event = e;
    return SSQ_OK;
}

void reference_event_close(struct backend_event *event)
{
    mem_free(event);
}

/* Record an event with a clock that is never set, because only differences
 * matter. */
ssq_status reference_event_record(struct backend_event *event,
                                  struct backend_queue *queue)
{
    (void)queue;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    event->seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return SSQ_OK;
}

/* All work before the event is already done, so a wait, a query or a sync does
 * nothing. */
ssq_status reference_event_wait(struct backend_queue *queue,
                                struct backend_event *event)
{
    (void)queue;
    (void)event;
    return SSQ_OK;
}

ssq_status reference_event_finished(struct backend_event *event)
{
    (void)event;
    return SSQ_OK;
}

ssq_status reference_event_elapsed(struct backend_event *from,
                                   struct backend_event *to, double *seconds)
{
    *seconds = to->seconds - from->seconds;
    return SSQ_OK;
}
