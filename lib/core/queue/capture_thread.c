/* SPDX-License-Identifier: Apache-2.0 */
/* capture_thread.c - which thread captures on which queue.
 *
 * A capture concerns only the thread that began it. Other threads may create
 * objects on the same device meanwhile; these do not belong to the graph. */
#include "lib/core/queue/queue.h"

/* capture_check() holds queues_lock while it checks every queue of the device,
 * so these members change under this lock. The separate counter avoids the
 * lock in the usual case, without a capture. */
void capture_set_thread(ssq_queue *queue, bool on)
{
    ssq_device *d = queue->device;
    pthread_mutex_lock(&d->queues_lock);
    queue->capture.active = on;
    queue->capture.thread = pthread_self();
    pthread_mutex_unlock(&d->queues_lock);
    if (on)
        atomic_fetch_add(&d->captures, 1);
    else
        atomic_fetch_sub(&d->captures, 1);
}

/* True if this thread is capturing on the queue. capture.thread is valid
 * only while capture.active is set, because pthread_t has no value for "no
 * thread". */
static bool capture_is_mine(const ssq_queue *queue)
{
    return queue->capture.active &&
           pthread_equal(queue->capture.thread, pthread_self());
}

/* A dry capture does not count: it records nothing, so no memory can be missing
 * from its graph. */
ssq_status capture_check(ssq_device *device, const char *what)
{
    bool mine = false;
    ssq_status st = device_check(device, what);
    if (st != SSQ_OK || atomic_load(&device->captures) == 0)
        return st;
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL && !mine; q = q->next)
        mine = capture_is_mine(q) && !q->capture.dry;
    pthread_mutex_unlock(&device->queues_lock);
    return mine ? error_set(SSQ_ERR_INVALID,
                            "%s: a graph is being captured on %s", what,
                            device->props.name)
                : SSQ_OK;
}

ssq_status capture_check_thread(const ssq_queue *queue, const char *what)
{
    if (queue->capture.graph == NULL || capture_is_mine(queue))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: another thread is capturing a graph on this queue",
                     what);
}
