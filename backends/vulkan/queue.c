/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a queue: launches go into its submissions, and someone asks how
 * far it has come. */
#include "backends/vulkan/queue.h"

/* The queue's timeline semaphore, which begins at 0; none where the device has
 * no such: then each submission has a fence. */
static ssq_status make_timeline(struct backend_queue *q)
{
    const VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    if (!q->device->caps.timeline)
        return SSQ_OK;
    struct vulkan_timeline *t = q->device->core->mem_alloc(sizeof(*t));
    if (t == NULL)
        return vulkan_no_memory(q->device->core, sizeof(*t));
    VkResult e = VK(CreateSemaphore)(q->device->vk, &info, NULL, &t->semaphore);
    if (e != VK_SUCCESS) {
        q->device->core->mem_free(t);
        return vulkan_error(q->device->core, "vkCreateSemaphore", e);
    }
    t->refs = 1;
    q->timeline = t;
    return SSQ_OK;
}

/* Nothing of it is in progress: the caller has synced or given up.
 * Marks may still refer to its timeline. */
static void destroy(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    while (q->idle != NULL) {
        struct vulkan_submission *s = q->idle;
        q->idle = s->next;
        vulkan_submission_destroy(q, s);
    }
    pthread_mutex_lock(&d->lock);
    vulkan_timeline_put(d, q->timeline);
    pthread_mutex_unlock(&d->lock);
    vulkan_hazard_free(&q->hazards);
    pthread_mutex_destroy(&q->lock);
    q->device->core->mem_free(q);
}

ssq_status vulkan_queue_open(struct backend_device *device,
                             struct backend_queue **queue)
{
    struct backend_queue *q = device->core->mem_alloc(sizeof(*q));
    if (q == NULL || pthread_mutex_init(&q->lock, NULL) != 0) {
        device->core->mem_free(q);
        return vulkan_no_memory(device->core, sizeof(*q));
    }
    q->device = device;
    q->hazards.core = device->core;
    q->limit = FIRST_LIMIT;
    ssq_status st = vulkan_device_check(device);
    if (st == SSQ_OK)
        st = make_timeline(q);
    if (st == SSQ_OK)
        st = vulkan_submission_create(q, &q->idle);
    if (st != SSQ_OK) {
        destroy(q);
        return st;
    }
    *queue = q;
    return SSQ_OK;
}

void vulkan_queue_close(struct backend_queue *q)
{
    /* a failure may have left submissions that still run */
    if (vulkan_queue_sync(q) != SSQ_OK) {
        pthread_mutex_lock(&q->lock);
        vulkan_queue_give_up(q, vulkan_queue_check(q));
        pthread_mutex_unlock(&q->lock);
    }
    destroy(q);
}

ssq_status vulkan_queue_sync(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    if (st == SSQ_OK)
        st = vulkan_submission_send(q);
    uint64_t value = q->value;
    const char *call;
    pthread_mutex_unlock(&q->lock);
    if (st != SSQ_OK)
        return st;
    /* without the queue's lock: other threads may ask or enqueue meanwhile */
    VkResult e = vulkan_wait(q, value, &call);
    if (e == VK_SUCCESS)
        return SSQ_OK;
    pthread_mutex_lock(&q->lock);
    st = vulkan_queue_fail(q, call, e);
    pthread_mutex_unlock(&q->lock);
    return st;
}

ssq_status vulkan_launch(struct backend_queue *q, const struct launch *launch)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    if (st == SSQ_OK)
        st = vulkan_submission_launch(q, launch);
    pthread_mutex_unlock(&q->lock);
    return st;
}

void vulkan_command_end(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    pthread_mutex_lock(&q->lock);
    q->submitted++;
    /* The core asks for no status here: a failure is kept by the queue and
     * shows at the next sync. */
    if (q->recording != NULL) {
        if (q->recording->launches >= q->recording->limit)
            (void)vulkan_submission_send(q);
        /* Nothing of the command is recorded any more: it is done with the
         * newest submission in progress, or at the call if none is */
    } else {
        pthread_mutex_lock(&d->lock);
        if (q->first != NULL)
            q->last->sequence = q->submitted;
        else
            q->finished = q->submitted;
        pthread_mutex_unlock(&d->lock);
    }
    pthread_mutex_unlock(&q->lock);
}

ssq_status vulkan_queue_failure(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = q->status;
    pthread_mutex_unlock(&q->lock);
    /* the text never changes after a failure */
    return st == SSQ_OK ? SSQ_OK
                        : q->device->core->error_set(st, "%s", q->text);
}

/* Commands that have run. A device begins when a submission is full, so that
 * a thread that only polls would poll for ever: if it polls twice with nothing
 * enqueued in between is taken to wait, and what is recorded is sent. It does
 * not wait for kernels that are still compiled: a later poll sends then. */
uint64_t vulkan_completed(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    pthread_mutex_lock(&q->lock);
    pthread_mutex_lock(&d->lock);
    const char *call;
    VkResult e = vulkan_retire(q, &call);
    /* another queue has found the device lost, and this one has not heard */
    bool lost = d->status != SSQ_OK && q->status == SSQ_OK;
    uint64_t finished = q->finished;
    pthread_mutex_unlock(&d->lock);
    if (e != VK_SUCCESS || lost) {
        if (e != VK_SUCCESS)
            (void)vulkan_queue_fail(q, call, e);
        else
            (void)vulkan_queue_broken(q, vulkan_device_check(d));
        finished = q->finished;
    } else if (finished < q->submitted && q->asked == q->submitted &&
               (q->recording == NULL ||
                vulkan_record_ready(&q->recording->rec))) {
        (void)vulkan_submission_send(q);
    }
    q->asked = q->submitted;
    pthread_mutex_unlock(&q->lock);
    return finished;
}
