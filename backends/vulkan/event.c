/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events: marks in queues.
 *
 * An event has the mark of its newest record. Another queue waits for a mark by
 * a semaphore, on the device; where there are no timelines, the host waits
 * before it gives that queue more. A mark whose queue failed is done, with the
 * failure. */
#include "backends/vulkan/queue.h"

#include <string.h>

struct backend_event {
    struct backend_device *device;
    /* NULL: not recorded yet; until then the core calls this backend for
     * nothing but a record */
    struct vulkan_mark *mark;
};

ssq_status vulkan_event_open(struct backend_device *device,
                             struct backend_event **event)
{
    struct backend_event *e = device->core->mem_alloc(sizeof(*e));
    if (e == NULL)
        return vulkan_no_memory(device->core, sizeof(*e));
    e->device = device;
    *event = e;
    return SSQ_OK;
}

void vulkan_event_close(struct backend_event *event)
{
    pthread_mutex_lock(&event->device->lock);
    vulkan_mark_put(event->mark);
    pthread_mutex_unlock(&event->device->lock);
    event->device->core->mem_free(event);
}

/* Put a mark into the submission that is recorded: it and the caller hold it.
 * Its value is the number that this submission is going to have. */
static void vulkan_event_set(struct backend_queue *q,
                             struct vulkan_submission *s, struct vulkan_mark *m)
{
    m->refs = 2;
    m->device = q->device;
    m->queue = q;
    m->value = q->value + 1;
    m->time = vulkan_submission_time(s);
    pthread_mutex_lock(&q->device->lock);
    m->timeline = q->timeline;
    if (m->timeline != NULL)
        m->timeline->refs++;
    m->next = s->marks;
    s->marks = m;
    pthread_mutex_unlock(&q->device->lock);
}

/* Give the event the mark that was sent; its last one goes. If the mark was not
 * sent, the event keeps the last one. */
static void vulkan_event_keep(struct backend_event *event,
                              struct vulkan_mark *m, bool sent)
{
    pthread_mutex_lock(&event->device->lock);
    vulkan_mark_put(sent ? event->mark : m);
    if (sent)
        event->mark = m;
    pthread_mutex_unlock(&event->device->lock);
}

/* A second record makes another mark; waits for the first are not affected. The
 * submission is sent, because a mark that no one sends would never be reached:
 * another queue's semaphore would wait for ever. */
ssq_status vulkan_event_record(struct backend_event *event,
                               struct backend_queue *q)
{
    struct vulkan_submission *s;
    struct vulkan_mark *m = q->device->core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return vulkan_no_memory(q->device->core, sizeof(*m));
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    if (st == SSQ_OK)
        st = vulkan_submission_get(q, &s);
    if (st == SSQ_OK) {
        vulkan_event_set(q, s, m);
        st = vulkan_submission_send(q);
        vulkan_event_keep(event, m, st == SSQ_OK);
    } else {
        q->device->core->mem_free(m);
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* The error of an event whose queue failed; set as the thread's text. */
static ssq_status failed_before(const struct vulkan_mark *m)
{
    return m->device->core->error_set(m->status,
                                      "vulkan: the queue of the event failed "
                                      "before it was reached");
}

/* The kernels that the mark's queue sent last; "" once it is done. With the
 * device's lock. */
static void name_last(const struct vulkan_mark *m, char *text, size_t bytes)
{
    text[0] = '\0';
    if (m->queue != NULL)
        vulkan_queue_last(m->queue, text, bytes);
}

/* The error of a call about a mark: a lost device is remembered as lost.
 * Without a lock. */
static ssq_status call_failed(struct vulkan_mark *m, const char *call,
                              VkResult result)
{
    char last[256];
    if (result != VK_ERROR_DEVICE_LOST)
        return vulkan_error(m->device->core, call, result);
    pthread_mutex_lock(&m->device->lock);
    name_last(m, last, sizeof(last));
    pthread_mutex_unlock(&m->device->lock);
    return vulkan_device_lost(m->device, call, result, last);
}

/* The event's mark with a reference, if it is still to be waited for; else
 * NULL, with its result in *status and the error text. */
static struct vulkan_mark *hold_pending(struct backend_event *event,
                                        ssq_status *status)
{
    struct vulkan_mark *m = event->mark;
    pthread_mutex_lock(&event->device->lock);
    bool done = m->done;
    bool lost = event->device->status != SSQ_OK;
    if (!done && !lost)
        m->refs++;
    pthread_mutex_unlock(&event->device->lock);
    *status = done   ? m->status
              : lost ? vulkan_device_check(event->device)
                     : SSQ_OK;
    if (done && *status != SSQ_OK)
        (void)failed_before(m);
    return done || lost ? NULL : m;
}

/* Give a reference to a mark back, without a lock. */
static void vulkan_event_let_go(struct vulkan_mark *m)
{
    struct backend_device *d = m->device;
    pthread_mutex_lock(&d->lock);
    vulkan_mark_put(m);
    pthread_mutex_unlock(&d->lock);
}

/* With the queue's lock: later commands wait for the mark, whose
 * reference is the submission's then, or is given back where this fails. */
static ssq_status add_wait(struct backend_queue *q, struct vulkan_mark *m)
{
    struct vulkan_submission *s;
    ssq_status st = vulkan_queue_check(q);
    /* Earlier commands need not wait: they are sent. So is one that has no
     * room for a further wait. */
    if (st == SSQ_OK && q->recording != NULL &&
        (q->recording->launches > 0 ||
         q->recording->nwaits == SUBMISSION_WAITS))
        st = vulkan_submission_send(q);
    if (st == SSQ_OK)
        st = vulkan_submission_get(q, &s);
    if (st == SSQ_OK)
        s->waits[s->nwaits++] = m;
    else
        vulkan_event_let_go(m);
    return st;
}

/* A mark of a semaphore of the caller. It counts as done, because its queue is
 * not ours to retire. With one reference; NULL: no memory. */
static struct vulkan_mark *foreign_mark(struct backend_device *d,
                                        uint64_t semaphore, uint64_t value)
{
    struct vulkan_mark *m = d->core->mem_alloc(sizeof(*m));
    struct vulkan_timeline *t = d->core->mem_alloc(sizeof(*t));
    if (m == NULL || t == NULL) {
        d->core->mem_free(m);
        d->core->mem_free(t);
        return NULL;
    }
    memcpy(&t->semaphore, &semaphore, sizeof(t->semaphore));
    t->refs = 1;
    t->borrowed = true;
    m->refs = 1;
    m->device = d;
    m->timeline = t;
    m->value = value;
    m->done = true;
    return m;
}

ssq_status vulkan_semaphore_wait(struct backend_queue *q, uint64_t semaphore,
                                 uint64_t value)
{
    if (semaphore == 0) { /* a barrier, as after a wait of the host */
        pthread_mutex_lock(&q->lock);
        q->hazards.all = true;
        pthread_mutex_unlock(&q->lock);
        return SSQ_OK;
    }
    if (q->timeline == NULL)
        return q->device->core->error_set(
            SSQ_ERR_UNSUPPORTED,
            "vulkan: the device has no timeline semaphores to wait for");
    struct vulkan_mark *m = foreign_mark(q->device, semaphore, value);
    if (m == NULL)
        return vulkan_no_memory(q->device->core, sizeof(*m));
    pthread_mutex_lock(&q->lock);
    ssq_status st = add_wait(q, m);
    pthread_mutex_unlock(&q->lock);
    return st;
}

bool vulkan_event_semaphore(struct backend_event *event, uint64_t *semaphore,
                            uint64_t *value)
{
    struct vulkan_mark *m = event->mark;
    if (m == NULL || m->timeline == NULL)
        return false;
    pthread_mutex_lock(&event->device->lock);
    m->timeline->waited = true;
    pthread_mutex_unlock(&event->device->lock);
    *semaphore = 0;
    memcpy(semaphore, &m->timeline->semaphore, sizeof(m->timeline->semaphore));
    *value = m->value;
    return true;
}

/* Wait for a mark that is held, and release it. */
static ssq_status vulkan_event_wait_for(struct vulkan_mark *m)
{
    const char *call;
    VkResult e = vulkan_mark_wait(m, &call);
    ssq_status st = SSQ_OK;
    if (e != VK_SUCCESS)
        st = call_failed(m, call, e);
    else if (m->status != SSQ_OK)
        st = failed_before(m);
    vulkan_event_let_go(m);
    return st;
}

ssq_status vulkan_event_wait(struct backend_queue *q,
                             struct backend_event *event)
{
    ssq_status st;
    struct vulkan_mark *m = hold_pending(event, &st);
    bool fence = m != NULL && m->timeline == NULL;
    /* A device cannot wait for a fence: the host waits here, without the
     * queue's lock. */
    if (fence)
        st = vulkan_event_wait_for(m);
    pthread_mutex_lock(&q->lock);
    if (m != NULL && !fence)
        st = add_wait(q, m);
    /* The semaphore makes the other queue's writes visible. Where there is
     * none, this queue has no record of them: a barrier does
     * it. */
    else
        q->hazards.all = true;
    pthread_mutex_unlock(&q->lock);
    return st;
}

ssq_status vulkan_event_query(struct backend_event *event)
{
    const char *call;
    ssq_status st;
    struct vulkan_mark *m = hold_pending(event, &st);
    if (m == NULL)
        return st;
    VkResult e = VK_SUCCESS;
    pthread_mutex_lock(&m->device->lock);
    if (!m->done)
        e = vulkan_retire(m->queue, &call);
    bool done = m->done;
    pthread_mutex_unlock(&m->device->lock);
    if (e != VK_SUCCESS)
        st = call_failed(m, call, e);
    else if (!done)
        st = event->device->core->error_set(
            SSQ_ERR_NOT_READY, "vulkan: the event is not reached yet");
    else if (m->status != SSQ_OK)
        st = failed_before(m);
    vulkan_event_let_go(m);
    return st;
}

ssq_status vulkan_event_sync(struct backend_event *event)
{
    ssq_status st;
    struct vulkan_mark *m = hold_pending(event, &st);
    return m == NULL ? st : vulkan_event_wait_for(m);
}

ssq_status vulkan_event_elapsed(struct backend_event *from,
                                struct backend_event *to, double *seconds)
{
    const struct vulkan_caps *c = &from->device->caps;
    ssq_status st = vulkan_event_query(from);
    if (st == SSQ_OK)
        st = vulkan_event_query(to);
    if (st != SSQ_OK)
        return st;
    if (!from->mark->timed || !to->mark->timed)
        return from->device->core->error_set(
            SSQ_ERR_UNSUPPORTED, "vulkan: the device's queue has no clock");
    /* The clock has timestamp_bits, and wraps. The difference is moved to the
     * top of a word, where its highest bit is a sign, and divided back: `from`
     * may be the later one. */
    uint32_t unused = c->timestamp_bits < 64 ? 64 - c->timestamp_bits : 0;
    int64_t ticks = (int64_t)((to->mark->ticks - from->mark->ticks) << unused) /
                    (INT64_C(1) << unused);
    *seconds = (double)ticks * (double)c->timestamp_period * 1e-9;
    return SSQ_OK;
}
