/* SPDX-License-Identifier: Apache-2.0 */
/* sticky.c - the error that a queue keeps, and the end of the work that it had
 * in progress.
 *
 * After a failure it is unknown which enqueued commands the device has
 * executed, so the queue takes nothing any more: every later call answers the
 * first error. */
#include "backends/vulkan/queue.h"

#include <stdio.h>

void vulkan_queue_give_up(struct backend_queue *q, ssq_status status)
{
    struct backend_device *d = q->device;
    const char *call;
    bool idle = vulkan_device_check(d) != SSQ_OK ||
                vulkan_wait(q, q->value, &call) == VK_SUCCESS;
    pthread_mutex_lock(&d->lock);
    /* memory is freed next: where the timeline or the fence cannot be asked,
     * the whole VkQueue is waited for */
    if (!idle)
        vulkan_wait_idle(d);
    vulkan_abandon(q, status);
    pthread_mutex_unlock(&d->lock);
    vulkan_hazard_clear(&q->hazards);
}

ssq_status vulkan_queue_check(struct backend_queue *q)
{
    if (q->status != SSQ_OK)
        return q->device->core->error_set(q->status, "%s", q->text);
    return vulkan_device_check(q->device);
}

ssq_status vulkan_queue_broken(struct backend_queue *q, ssq_status status)
{
    if (q->status == SSQ_OK) {
        q->status = status;
        snprintf(q->text, sizeof(q->text), "%s", q->device->core->error_text());
    }
    /* the error text may be another one after this: it is set again */
    vulkan_queue_give_up(q, q->status);
    return q->device->core->error_set(q->status, "%s", q->text);
}

/* Of the oldest submission in progress, where the device most likely is, or of
 * the one that could not be sent. */
void vulkan_queue_last(const struct backend_queue *q, char *text, size_t bytes)
{
    const struct vulkan_submission *s =
        q->first != NULL ? q->first : q->recording;
    int n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; s != NULL && i < VULKAN_LAST && i < s->rec.named; i++)
        if (n >= 0 && (size_t)n < bytes)
            n += snprintf(text + n, bytes - (size_t)n, "%s%s",
                          n == 0 ? "last submitted: " : ", ",
                          s->rec.last[(s->rec.named - 1 - i) % VULKAN_LAST]);
}

ssq_status vulkan_queue_fail(struct backend_queue *q, const char *call,
                             VkResult result)
{
    char last[256];
    ssq_status st;
    pthread_mutex_lock(&q->device->lock);
    vulkan_queue_last(q, last, sizeof(last));
    pthread_mutex_unlock(&q->device->lock);
    /* a lost device fails all its queues, other errors only this one */
    if (result == VK_ERROR_DEVICE_LOST)
        st = vulkan_device_lost(q->device, call, result, last);
    else
        st = vulkan_error(q->device->core, call, result);
    return vulkan_queue_broken(q, st);
}
