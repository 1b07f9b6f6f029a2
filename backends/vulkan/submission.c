/* SPDX-License-Identifier: Apache-2.0 */
/* submission.c - command buffers of a queue with their resources: made,
 * recorded, sent.
 *
 * A submission that was made is used again as long as the queue lives. A queue
 * has one from its beginning: where a second one finds no memory, the first is
 * waited for, so that a queue that could be opened continues. */
#include "backends/vulkan/queue.h"

/* A pool for the one command buffer: a pool is used by one thread at a time,
 * and resetting it whole is cheaper than resetting buffers. */
static ssq_status make_commands(struct backend_device *d,
                                struct vulkan_submission *s)
{
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = d->caps.family};
    VkResult e = VK(CreateCommandPool)(d->vk, &pool, NULL, &s->pool);
    if (e != VK_SUCCESS)
        return vulkan_error(d->core, "vkCreateCommandPool", e);
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    e = VK(AllocateCommandBuffers)(d->vk, &commands, &s->rec.commands);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(d->core, "vkAllocateCommandBuffers", e);
}

/* Queries for the moments of the submission, and host memory that the device
 * writes their results to. A device without a clock has neither. */
static ssq_status make_times(struct backend_device *d,
                             struct vulkan_submission *s)
{
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = SUBMISSION_TIMES};
    if (d->caps.timestamp_bits == 0)
        return SSQ_OK;
    VkResult e = VK(CreateQueryPool)(d->vk, &info, NULL, &s->times);
    if (e != VK_SUCCESS)
        return vulkan_error(d->core, "vkCreateQueryPool", e);
    return vulkan_mem_create(d, SUBMISSION_TIMES * sizeof(uint64_t),
                             VULKAN_TO_HOST, &s->ticks);
}

/* Without timelines, a fence signals that the submission has run. */
static ssq_status make_fence(struct backend_queue *q,
                             struct vulkan_submission *s)
{
    const VkFenceCreateInfo info = {.sType =
                                        VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (q->timeline != NULL)
        return SSQ_OK;
    VkResult e = VK(CreateFence)(q->device->vk, &info, NULL, &s->fence);
    return e == VK_SUCCESS ? SSQ_OK
                           : vulkan_error(q->device->core, "vkCreateFence", e);
}

ssq_status vulkan_submission_create(struct backend_queue *q,
                                    struct vulkan_submission **submission)
{
    struct backend_device *d = q->device;
    struct vulkan_submission *s = q->device->core->mem_alloc(sizeof(*s));
    if (s == NULL)
        return vulkan_no_memory(q->device->core, sizeof(*s));
    ssq_status st = vulkan_recording_open(d, SUBMISSION_LAUNCHES,
                                          SUBMISSION_COMMANDS, &s->rec);
    if (st == SSQ_OK)
        st = make_commands(d, s);
    if (st == SSQ_OK)
        st = make_times(d, s);
    if (st == SSQ_OK)
        st = make_fence(q, s);
    if (st != SSQ_OK) {
        vulkan_submission_destroy(q, s);
        return st;
    }
    q->nsubmissions++;
    pthread_mutex_lock(&d->lock);
    s->limit = q->limit;
    pthread_mutex_unlock(&d->lock);
    *submission = s;
    return SSQ_OK;
}

void vulkan_submission_destroy(struct backend_queue *q,
                               struct vulkan_submission *s)
{
    struct backend_device *d = q->device;
    if (s->fence != VK_NULL_HANDLE)
        VK(DestroyFence)(d->vk, s->fence, NULL);
    if (s->times != VK_NULL_HANDLE)
        VK(DestroyQueryPool)(d->vk, s->times, NULL);
    if (s->pool != VK_NULL_HANDLE) /* and its command buffer */
        VK(DestroyCommandPool)(d->vk, s->pool, NULL);
    if (s->ticks != NULL)
        vulkan_mem_destroy(d, s->ticks);
    if (s->up != NULL)
        vulkan_mem_destroy(d, s->up);
    if (s->down != NULL)
        vulkan_mem_destroy(d, s->down);
    vulkan_recording_close(&s->rec);
    q->device->core->mem_free(s);
}

/* Take an idle submission, after retiring what has run. NULL: there is none, or
 * *result says that the device could not be asked. */
static struct vulkan_submission *take_idle(struct backend_queue *q,
                                           VkResult *result, const char **call)
{
    pthread_mutex_lock(&q->device->lock);
    *result = vulkan_retire(q, call);
    struct vulkan_submission *s = *result == VK_SUCCESS ? q->idle : NULL;
    if (s != NULL) {
        q->idle = s->next;
        s->limit = q->limit;
    }
    pthread_mutex_unlock(&q->device->lock);
    return s;
}

/* A submission that nothing is in: an idle one, a new one, or the oldest under
 * way, which is waited for. One exists: nothing is recorded now, so
 * the ones that are not idle are in progress. */
static ssq_status submission_take(struct backend_queue *q,
                                  struct vulkan_submission **submission)
{
    const char *call;
    VkResult e;
    *submission = take_idle(q, &e, &call);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, call, e);
    if (*submission != NULL)
        return SSQ_OK;
    if (q->nsubmissions < SUBMISSION_COUNT &&
        vulkan_submission_create(q, submission) == SSQ_OK)
        return SSQ_OK;
    e = vulkan_wait(q, 0, &call);
    if (e == VK_SUCCESS)
        *submission = take_idle(q, &e, &call);
    return e == VK_SUCCESS ? SSQ_OK : vulkan_queue_fail(q, call, e);
}

uint32_t vulkan_submission_time(struct vulkan_submission *s)
{
    uint32_t i = s->ntimes++;
    const struct record_command c = {.kind = RECORD_TIME,
                                     .of.time = {s->times, i}};
    if (s->times != VK_NULL_HANDLE)
        vulkan_record(&s->rec, &c);
    return i;
}

/* Has the recording no slot left, or the device enough for one submission? */
static bool is_full(const struct vulkan_submission *s)
{
    return s->rec.used == s->rec.room || s->launches >= s->limit;
}

ssq_status vulkan_submission_get(struct backend_queue *q,
                                 struct vulkan_submission **submission)
{
    const VkCommandBufferBeginInfo once = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    ssq_status st = SSQ_OK;
    if (q->recording != NULL && is_full(q->recording))
        st = vulkan_submission_send(q);
    *submission = q->recording;
    if (st == SSQ_OK && *submission != NULL)
        return SSQ_OK;
    if (st == SSQ_OK)
        st = submission_take(q, submission);
    if (st != SSQ_OK)
        return st;
    struct vulkan_submission *s = *submission;
    q->recording = s;
    VkResult e = VK(ResetCommandPool)(q->device->vk, s->pool, 0);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkResetCommandPool", e);
    e = VK(BeginCommandBuffer)(s->rec.commands, &once);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkBeginCommandBuffer", e);
    if (s->times != VK_NULL_HANDLE)
        VK(CmdResetQueryPool)(s->rec.commands, s->times, 0, SUBMISSION_TIMES);
    /* the first of its moments is when it began: learn() wants to know */
    (void)vulkan_submission_time(s);
    return SSQ_OK;
}

ssq_status vulkan_submission_launch(struct backend_queue *q,
                                    const struct launch *launch)
{
    struct vulkan_submission *s;
    ssq_status st = vulkan_submission_get(q, &s);
    if (st != SSQ_OK)
        return st;
    vulkan_record_launch(&s->rec, &q->hazards, launch);
    s->launches++;
    return SSQ_OK;
}

/* Note when the submission was over, and let the host see what it wrote:
 * coherent memory alone does not order a device's writes before a host's reads.
 * The times are fetched by the device: llvmpipe cannot be asked for them from
 * one thread while it works in another. */
static VkResult end_commands(struct vulkan_submission *s)
{
    (void)vulkan_submission_time(s);
    if (s->times != VK_NULL_HANDLE)
        VK(CmdCopyQueryPoolResults)
    (s->rec.commands, s->times, 0, s->ntimes, s->ticks->buffer, 0,
     sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask =
                                         VK_ACCESS_SHADER_WRITE_BIT |
                                         VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VK(CmdPipelineBarrier)
    (s->rec.commands,
     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
     VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    return VK(EndCommandBuffer)(s->rec.commands);
}

/* Give a recorded submission to the VkQueue: it waits for its marks' timelines,
 * then runs, then raises the queue's own to its number. Values are ignored
 * without timelines. With the device's lock, which guards the VkQueue
 * and the timelines' flags. */
static VkResult submission_hand_over(struct backend_queue *q,
                                     struct vulkan_submission *s)
{
    VkSemaphore wait[SUBMISSION_WAITS];
    VkPipelineStageFlags stage[SUBMISSION_WAITS];
    uint64_t value[SUBMISSION_WAITS];
    for (uint32_t i = 0; i < s->nwaits; i++) {
        wait[i] = s->waits[i]->timeline->semaphore;
        s->waits[i]->timeline->waited = true;
        value[i] = s->waits[i]->value;
        stage[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    }
    VkTimelineSemaphoreSubmitInfo times = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = s->nwaits,
        .pWaitSemaphoreValues = value,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &s->value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &s->rec.commands};
    if (q->timeline != NULL) {
        info.pNext = &times;
        info.waitSemaphoreCount = s->nwaits;
        info.pWaitSemaphores = wait;
        info.pWaitDstStageMask = stage;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &q->timeline->semaphore;
    }
    return vulkan_submit(q->device, &info, s->fence);
}

ssq_status vulkan_submission_send(struct backend_queue *q)
{
    struct vulkan_submission *s = q->recording;
    if (s == NULL)
        return SSQ_OK;
    ssq_status st = vulkan_record_finish(&s->rec);
    if (st != SSQ_OK)
        return vulkan_queue_broken(q, st);
    VkResult e = end_commands(s);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkEndCommandBuffer", e);
    if (s->fence != VK_NULL_HANDLE)
        e = VK(ResetFences)(q->device->vk, 1, &s->fence);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkResetFences", e);
    /* q->value follows only where the driver took it: numbers have no gaps */
    s->value = q->value + 1;
    s->sequence = q->submitted;
    pthread_mutex_lock(&q->device->lock);
    e = submission_hand_over(q, s);
    if (e == VK_SUCCESS) {
        q->value = s->value;
        q->recording = NULL;
        s->next = NULL;
        if (q->first == NULL)
            q->first = s;
        else
            q->last->next = s;
        q->last = s;
    }
    pthread_mutex_unlock(&q->device->lock);
    return e == VK_SUCCESS ? SSQ_OK : vulkan_queue_fail(q, "vkQueueSubmit", e);
}
