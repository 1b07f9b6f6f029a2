/* SPDX-License-Identifier: Apache-2.0 */
/* queue_calls.c - queues of a device: create and destroy them, query their
 * progress. */
#include "lib/core/queue/queue.h"

#include "lib/core/base/fork.h"
#include "lib/core/queue/pending.h"
#include "lib/core/queue/progress.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/report.h"

struct progress *queue_progress(ssq_queue *queue)
{
    return progress_get(queue->progress);
}

uint64_t queue_position(ssq_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t position = queue->submitted + queue->deferred.commands;
    pthread_mutex_unlock(&queue->lock);
    return position;
}

/* Free a queue; called by the last object_put(). The queue leaves the device's
 * list before it is closed, so that device_retire() sees only usable queues.
 * Closing waits for the device; ops and buffers are released after that. */
static void queue_free(struct object *o)
{
    ssq_queue *q = (ssq_queue *)o;
    ssq_device *d = q->device;
    if (device_lost(d)) { /* the queue's state may be inconsistent */
        mem_free(q);
        object_put(&d->object);
        return;
    }
    capture_drop(q);
    pthread_mutex_lock(&d->queues_lock);
    for (ssq_queue **at = &d->queues; *at != NULL; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&d->queues_lock);
    progress_close(q->progress, false);
    d->backend->queue_close(q->impl);
    progress_close(q->progress, true);
    progress_put(q->progress);
    queue_release_commands(q);
    replay_free(atomic_load(&q->replay));
    pthread_cond_destroy(&q->deferred.changed);
    pthread_mutex_destroy(&q->lock);
    mem_free(q);
    object_put(&d->object);
}

/* Other threads see the queue once it is in the device's list, so it is added
 * last. */
ssq_status queue_create(ssq_device *device, struct backend_queue *impl,
                        ssq_queue **queue)
{
    struct progress *progress = progress_create(device->backend, impl);
    ssq_queue *q = progress == NULL ? NULL : mem_alloc(sizeof(*q));
    if (q == NULL) {
        progress_put(progress);
        device->backend->queue_close(impl);
        return error_nomem("queue_create", sizeof(*q));
    }
    q->impl = impl;
    q->progress = progress;
    object_init(&q->object, queue_free);
    progress_bind(progress, q);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->deferred.changed, NULL);
    q->deferred.end = &q->deferred.first;
    q->end = &q->first;
    q->device = device;
    object_get(&device->object);
    pthread_mutex_lock(&device->queues_lock);
    q->next = device->queues;
    device->queues = q;
    pthread_mutex_unlock(&device->queues_lock);
    *queue = q;
    return SSQ_OK;
}

/* For fork only. No other code locks two queues at the same time, so their
 * order in the list does not matter while queues_lock is held. */
void queues_hold(ssq_device *device)
{
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL; q = q->next) {
        replay_hold(atomic_load(&q->replay));
        pthread_mutex_lock(&q->lock);
        progress_hold(q->progress);
    }
}

void queues_let_go(ssq_device *device)
{
    for (ssq_queue *q = device->queues; q != NULL; q = q->next) {
        progress_let_go(q->progress);
        pthread_mutex_unlock(&q->lock);
        replay_let_go(atomic_load(&q->replay));
    }
    pthread_mutex_unlock(&device->queues_lock);
}

ssq_status ssq_queue_create(ssq_device *device,
                            const ssq_queue_options *options, ssq_queue **queue)
{
    if (device == NULL || queue == NULL)
        return error_set(SSQ_ERR_INVALID, "queue_create: %s is NULL",
                         device == NULL ? "device" : "queue");
    if (options != NULL && options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "queue_create: struct_size is %zu, expected %zu",
                         options->struct_size, sizeof(*options));
    ssq_status st = device_check(device, "queue_create");
    if (st != SSQ_OK)
        return st;
    struct backend_queue *impl = NULL;
    struct fpenv env = fpenv_enter();
    st = device->backend->queue_open(device->impl, &impl);
    fpenv_leave(env);
    return st == SSQ_OK ? queue_create(device, impl, queue) : st;
}

/* An event may still hold the queue, which then outlives this call. Waiting
 * here ensures that no work uses the caller's host memory afterwards. */
void ssq_queue_destroy(ssq_queue **queue)
{
    if (queue == NULL || *queue == NULL)
        return;
    if (!device_lost((*queue)->device)) {
        capture_drop(*queue);
        (void)replay_flush(*queue);
        (void)deferred_wait(*queue, DEFERRED_ALL, "queue_destroy");
        queue_retire(*queue, true);
    }
    object_put(&(*queue)->object);
    *queue = NULL;
}

ssq_device *ssq_queue_device(const ssq_queue *queue)
{
    return queue == NULL ? NULL : queue->device;
}

ssq_status ssq_queue_stats_get(ssq_queue *queue, ssq_queue_stats *stats)
{
    static const char what[] = "queue_stats_get";
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (stats == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: stats is NULL", what);
    if (stats->struct_size != sizeof(*stats))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         stats->struct_size, sizeof(*stats));
    pthread_mutex_lock(&queue->lock);
    stats->submissions = queue->submitted;
    pthread_mutex_unlock(&queue->lock);
    return SSQ_OK;
}

bool queue_capturing(const ssq_queue *queue)
{
    return queue->capture.graph != NULL;
}

ssq_status queue_check_runs(ssq_queue *queue, const char *what)
{
    bool recorded;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st == SSQ_OK && recorded)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: the program captures the queue's stream", what);
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID, "%s: a graph is being captured", what);
    return st;
}

ssq_status queue_wait(ssq_queue *queue)
{
    ssq_status st = queue_check(queue, "queue_sync");
    if (st != SSQ_OK)
        return st;
    if (queue->capture.graph != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "queue_sync: a graph is being captured");
    st = replay_flush(queue);
    if (st == SSQ_OK)
        st = deferred_wait(queue, DEFERRED_ALL, "queue_sync");
    if (st != SSQ_OK)
        return st;
    st = queue_finish(queue);
    if (st == SSQ_OK) /* a failure elsewhere may have ended the queue */
        return queue_check(queue, "queue_sync");
    /* SSQ_ERR_INVALID: it did not wait, and nothing has failed */
    return st == SSQ_ERR_INVALID ? st : queue_fail(queue, st);
}

/* Wait for the queue even if a report could not send its words for lack of
 * memory. After this call the caller frees memory that the queue's work uses.
 */
ssq_status ssq_queue_sync(ssq_queue *queue)
{
    ssq_status st = queue_check(queue, "queue_sync"), sent = SSQ_OK;
    if (st != SSQ_OK)
        return st;
    if (queue->capture.graph == NULL)
        sent = reports_send(queue);
    st = queue_wait(queue);
    if (st != SSQ_OK)
        return st;
    return sent != SSQ_OK ? sent : reports_get_error(queue);
}

/* Return how many commands the device has not finished. Other threads may be
 * submitting, so the count is read under the lock. */
static uint64_t commands_left(ssq_queue *queue)
{
    const struct backend *b = queue->device->backend;
    if (b->completed == NULL)
        return 0;
    uint64_t done = b->completed(queue->impl);
    pthread_mutex_lock(&queue->lock);
    uint64_t submitted = queue->submitted;
    pthread_mutex_unlock(&queue->lock);
    return submitted - done;
}

/* Submit all matched ops first: a caller that only polls would otherwise never
 * see them finish. */
ssq_status ssq_queue_status(const ssq_queue *queue)
{
    ssq_status st = queue_check(queue, "queue_status");
    if (st == SSQ_OK)
        st = replay_flush((ssq_queue *)(uintptr_t)queue);
    if (st == SSQ_OK && deferred_any(queue)) {
        st = deferred_check_fork(queue, "queue_status");
        return st == SSQ_OK
                   ? error_set(SSQ_ERR_NOT_READY,
                               "queue_status: a collective is under way")
                   : st;
    }
    if (st != SSQ_OK)
        return st;
    uint64_t left = commands_left((ssq_queue *)(uintptr_t)queue);
    if (left > 0)
        return error_set(SSQ_ERR_NOT_READY, "queue_status: %llu commands left",
                         (unsigned long long)left);
    device_retire(queue->device, false); /* calls callbacks of downloads */
    st = queue_check(queue, "queue_status");
    return st == SSQ_OK ? queue_poll_failure((ssq_queue *)(uintptr_t)queue)
                        : st;
}
