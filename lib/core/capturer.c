/* SPDX-License-Identifier: Apache-2.0 */
/* capturer.c - which thread captures on which queue.
 *
 * A capture concerns the thread that began it: what other threads create on the
 * same device meanwhile is not part of the graph, and is allowed. */
#include "lib/core/queue.h"

/* Under queues_lock, which capture_check holds while it looks at every queue of
 * the device; captures is counted apart so that the usual case, none under way,
 * takes no lock. */
void capturer_set(ssq_queue *queue, bool on)
{
    ssq_device *d = queue->device;
    pthread_mutex_lock(&d->queues_lock);
    queue->capturing = on;
    queue->capturer = pthread_self();
    pthread_mutex_unlock(&d->queues_lock);
    if (on)
        atomic_fetch_add(&d->captures, 1);
    else
        atomic_fetch_sub(&d->captures, 1);
}

/* True if this thread captures on the queue. capturer is only valid while
 * capturing is set: pthread_t has no value that means nobody. */
static bool captures(const ssq_queue *queue)
{
    return queue->capturing && pthread_equal(queue->capturer, pthread_self());
}

/* A dry capture does not count: it records nothing, so that no memory could be
 * missing from its graph. */
ssq_status capture_check(ssq_device *device, const char *what)
{
    bool mine = false;
    ssq_status st = device_check(device, what);
    if (st != SSQ_OK || atomic_load(&device->captures) == 0)
        return st;
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL && !mine; q = q->next)
        mine = captures(q) && !q->dry;
    pthread_mutex_unlock(&device->queues_lock);
    return mine ? error_set(SSQ_ERR_INVALID,
                            "%s: a graph is being captured on %s", what,
                            device->props.name)
                : SSQ_OK;
}

ssq_status capture_mine(const ssq_queue *queue, const char *what)
{
    if (queue->capture == NULL || captures(queue))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: another thread is capturing a graph on this queue",
                     what);
}
