/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the internals of a queue, shared by the files of lib/core. */
#ifndef LIB_CORE_QUEUE_QUEUE_H
#define LIB_CORE_QUEUE_QUEUE_H

#include "lib/core/core.h"
#include "lib/core/queue/bundle.h"
#include "lib/core/queue/capture.h"
#include "lib/core/queue/deferred.h"

struct ssq_queue {
    struct object object;
    ssq_device *device;
    struct backend_queue *impl;
    ssq_queue *next;              /* in device->queues */
    pthread_mutex_t lock;         /* guards impl and all enqueued work */
    struct pending *first, **end; /* submitted, not finished; in order */
    struct pending *kept;         /* in recordings that the caller makes */
    uint64_t submitted;           /* commands that the backend accepted */
    atomic_int failing;           /* a thread sets text, then sticky */
    atomic_int sticky;            /* ssq_status; text is written before it */
    char text[ERROR_TEXT];        /* of the sticky error */
    struct capture capture;
    struct bundle bundle;
    struct progress *progress;       /* the part that outlives the queue */
    struct deferred_list deferred;   /* work after a closed gate */
    _Atomic(struct replay *) replay; /* owned; NULL: nothing is replayed */
    struct report *reports;          /* used by a sync: report.h */
    bool reported; /* the creator reports the writes of all work to observers */
};

/** True during a capture that only checks whether its ops would run. */
static inline bool capture_dry(const ssq_queue *queue)
{
    return queue->capture.graph != NULL && queue->capture.dry;
}

/** Make the queue sticky with status and this thread's last text; returns
 *  status. The caller may or may not hold the lock. */
ssq_status queue_fail(ssq_queue *queue, ssq_status status);

/** Create a queue over an opened backend_queue. Closes impl on failure. */
ssq_status queue_create(ssq_device *device, struct backend_queue *impl,
                        ssq_queue **queue);

/** Take the locks of all queues of a device before a fork, and release them
 *  after it. */
void queues_hold(ssq_device *device);
void queues_let_go(ssq_device *device);

#endif
