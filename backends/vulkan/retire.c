/* SPDX-License-Identifier: Apache-2.0 */
/* retire.c - submissions that have run: their readbacks, and the threads that
 * waited for them.
 *
 * Any thread may retire any queue's: it takes the device's lock alone. Waiting
 * is done without that lock, so that other queues continue; a thread that
 * returns first retires, and the others find it done. */
#include "backends/vulkan/queue.h"

#include <string.h>
#include <time.h>

/* Give a reference to a timeline back, and destroy it with the last. A
 * submission of another queue that waited for it has run by then; but Mesa
 * 22.3, where it emulates timelines, looks at them once more on a thread of its
 * own, after that has run. */
void vulkan_timeline_put(struct backend_device *d, struct vulkan_timeline *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    if (t->waited && !t->borrowed)
        vulkan_wait_idle(d);
    if (!t->borrowed)
        VK(DestroySemaphore)(d->vk, t->semaphore, NULL);
    d->core->mem_free(t);
}

void vulkan_mark_put(struct vulkan_mark *m)
{
    if (m == NULL || --m->refs > 0)
        return;
    vulkan_timeline_put(m->device, m->timeline);
    m->device->core->mem_free(m);
}

/* *done: has the device run the submission? With the device's lock, since
 * another thread might retire it and reset its fence. */
static VkResult retire_is_done(struct backend_queue *q,
                               const struct vulkan_submission *s, bool *done,
                               const char **call)
{
    struct backend_device *d = q->device;
    uint64_t value = 0;
    VkResult e;
    if (q->timeline == NULL) {
        *call = "vkGetFenceStatus";
        e = VK(GetFenceStatus)(d->vk, s->fence);
        *done = e == VK_SUCCESS;
        return e == VK_NOT_READY ? VK_SUCCESS : e;
    }
    *call = "vkGetSemaphoreCounterValue";
    e = d->timeline.value(d->vk, q->timeline->semaphore, &value);
    *done = e == VK_SUCCESS && value >= s->value;
    return e;
}

/* Ticks from a to b, of a clock that has timestamp_bits and wraps. */
static uint64_t retire_between(const struct backend_device *d, uint64_t a,
                               uint64_t b)
{
    uint32_t bits = d->caps.timestamp_bits;
    return (b - a) & (bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1u);
}

/* No submission should take much longer than submission_ns: a GPU that also
 * draws would make the desktop freeze, or be reset. The time of the last one
 * says how many launches the next may have: in proportion where it was too
 * long, twice as many where it took less than a quarter. */
static void learn(struct backend_queue *q, const struct vulkan_submission *s,
                  const uint64_t *ticks)
{
    const struct backend_device *d = q->device;
    double ns = (double)retire_between(d, ticks[0], ticks[s->ntimes - 1]) *
                (double)d->caps.timestamp_period;
    double most = (double)d->submission_ns;
    if (ns > most && s->launches > 0) {
        double fit = (double)s->launches * most / ns;
        q->limit = fit < 1.0 ? 1 : (uint32_t)fit;
    } else if (ns < most / 4 && q->limit < SUBMISSION_LAUNCHES) {
        q->limit *= 2;
    }
    if (q->limit > SUBMISSION_LAUNCHES)
        q->limit = SUBMISSION_LAUNCHES;
}

/* The submission is over, with this status: its marks are reached, and its
 * references to them and to the ones that it waited for are given back. ticks:
 * the times of its moments, NULL where there are none. */
static void drop_marks(struct vulkan_submission *s, ssq_status status,
                       const uint64_t *ticks)
{
    while (s->marks != NULL) {
        struct vulkan_mark *m = s->marks;
        s->marks = m->next;
        m->next = NULL;
        m->queue = NULL;
        m->status = status;
        m->timed = ticks != NULL;
        m->ticks = ticks != NULL ? ticks[m->time] : 0;
        m->done = true;
        vulkan_mark_put(m);
    }
    while (s->nwaits > 0)
        vulkan_mark_put(s->waits[--s->nwaits]);
}

/* Ready to be used again; staging memory and descriptor sets stay. Its command
 * buffer is reset when it is begun again. */
static void make_idle(struct backend_queue *q, struct vulkan_submission *s)
{
    s->rec.used = 0;
    s->rec.listed = 0;
    s->rec.named = 0;
    s->launches = 0;
    s->ntimes = 0;
    s->narrivals = 0;
    s->up_used = 0;
    s->down_used = 0;
    s->next = q->idle;
    q->idle = s;
}

/* The first submission has run, and so have the submissions of other queues
 * that it waited for: they are retired before it, so that their readbacks are
 * available first. They are older than it, so this ends. */
static void retire_first(struct backend_queue *q)
{
    struct vulkan_submission *s = q->first;
    const uint64_t *ticks = s->ticks == NULL ? NULL : s->ticks->map;
    for (uint32_t i = 0; i < s->nwaits; i++)
        while (!s->waits[i]->done)
            retire_first(s->waits[i]->queue);
    if (ticks != NULL)
        learn(q, s, ticks);
    for (size_t i = 0; i < s->narrivals; i++)
        /* the caller keeps the memory until the queue has come this far */
        memcpy(s->arrivals[i].host,
               (const char *)s->down->map + s->arrivals[i].from,
               (size_t)s->arrivals[i].bytes);
    q->first = s->next;
    q->finished = s->sequence;
    drop_marks(s, SSQ_OK, ticks);
    make_idle(q, s);
}

VkResult vulkan_retire(struct backend_queue *q, const char **call)
{
    VkResult e = VK_SUCCESS;
    bool done = true;
    while (q->first != NULL && done && e == VK_SUCCESS) {
        e = retire_is_done(q, q->first, &done, call);
        if (e == VK_SUCCESS && done)
            retire_first(q);
    }
    return e;
}

void vulkan_abandon(struct backend_queue *q, ssq_status status)
{
    while (q->first != NULL) {
        struct vulkan_submission *s = q->first;
        q->first = s->next;
        drop_marks(s, status, NULL);
        make_idle(q, s);
    }
    if (q->recording != NULL) {
        drop_marks(q->recording, status, NULL);
        make_idle(q, q->recording);
        q->recording = NULL;
    }
    q->finished = q->submitted;
}

/* Without a timeline a fence is asked again and again, and not waited for: that
 * would be without the lock, and the thread that sees it signalled first may
 * retire the submission and reset the fence for its next use. */
static void pause_a_little(void)
{
    const struct timespec pause = {0, 50000};
    nanosleep(&pause, NULL);
}

/* Retire until the submission with number value has been retired. Without the
 * device's lock. */
static VkResult wait_for_fence(struct backend_queue *q, uint64_t value,
                               const char **call)
{
    for (;;) {
        pthread_mutex_lock(&q->device->lock);
        VkResult e = vulkan_retire(q, call);
        bool done = q->first == NULL || q->first->value > value;
        pthread_mutex_unlock(&q->device->lock);
        if (done || e != VK_SUCCESS)
            return e;
        pause_a_little();
    }
}

/* Sleep until the timeline has come to value; this retires nothing. The caller
 * sees to it that the timeline is not destroyed meanwhile. */
static VkResult wait_for_value(struct backend_device *d,
                               const struct vulkan_timeline *t, uint64_t value,
                               const char **call)
{
    const VkSemaphoreWaitInfo info = {.sType =
                                          VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &t->semaphore,
                                      .pValues = &value};
    *call = "vkWaitSemaphores";
    return d->timeline.wait(d->vk, &info, UINT64_MAX);
}

VkResult vulkan_wait(struct backend_queue *q, uint64_t value, const char **call)
{
    struct backend_device *d = q->device;
    pthread_mutex_lock(&d->lock);
    /* numbers begin with 1, so that 0 can represent the oldest */
    if (value == 0 && q->first != NULL)
        value = q->first->value;
    bool wait = q->first != NULL && q->first->value <= value;
    pthread_mutex_unlock(&d->lock);
    if (!wait)
        return VK_SUCCESS;
    if (q->timeline == NULL)
        return wait_for_fence(q, value, call);
    VkResult e = wait_for_value(d, q->timeline, value, call);
    if (e != VK_SUCCESS)
        return e;
    pthread_mutex_lock(&d->lock);
    e = vulkan_retire(q, call);
    pthread_mutex_unlock(&d->lock);
    return e;
}

VkResult vulkan_mark_wait(struct vulkan_mark *m, const char **call)
{
    struct backend_device *d = m->device;
    for (;;) {
        VkResult e = VK_SUCCESS;
        pthread_mutex_lock(&d->lock);
        if (!m->done)
            e = vulkan_retire(m->queue, call);
        bool done = m->done;
        pthread_mutex_unlock(&d->lock);
        if (e == VK_SUCCESS && !done && m->timeline != NULL)
            e = wait_for_value(d, m->timeline, m->value, call);
        else if (e == VK_SUCCESS && !done)
            pause_a_little();
        if (done || e != VK_SUCCESS)
            return e;
    }
}
