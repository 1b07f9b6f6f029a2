/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - command buffers of a queue: made, recorded, submitted.
 *
 * A batch that was made is used again as long as the queue lives. A queue has
 * one from its beginning: where a second one finds no memory, the first is
 * waited for. */
#include "backends/vulkan/queue.h"

static ssq_status make_commands(struct backend_device *d,
                                struct vulkan_batch *b)
{
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = d->caps.family};
    VkResult e = VK(CreateCommandPool)(d->vk, &pool, NULL, &b->pool);
    if (e != VK_SUCCESS)
        return vulkan_error(d->core, "vkCreateCommandPool", e);
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = b->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    e = VK(AllocateCommandBuffers)(d->vk, &commands, &b->rec.commands);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(d->core, "vkAllocateCommandBuffers", e);
}

static ssq_status make_times(struct backend_device *d, struct vulkan_batch *b)
{
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = BATCH_TIMES};
    if (d->caps.timestamp_bits == 0)
        return SSQ_OK;
    VkResult e = VK(CreateQueryPool)(d->vk, &info, NULL, &b->times);
    if (e != VK_SUCCESS)
        return vulkan_error(d->core, "vkCreateQueryPool", e);
    return vulkan_mem_create(d, BATCH_TIMES * sizeof(uint64_t), VULKAN_TO_HOST,
                             &b->ticks);
}

static ssq_status make_fence(struct backend_queue *q, struct vulkan_batch *b)
{
    const VkFenceCreateInfo info = {.sType =
                                        VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (q->timeline != NULL)
        return SSQ_OK;
    VkResult e = VK(CreateFence)(q->device->vk, &info, NULL, &b->fence);
    return e == VK_SUCCESS ? SSQ_OK
                           : vulkan_error(q->device->core, "vkCreateFence", e);
}

ssq_status vulkan_batch_create(struct backend_queue *q,
                               struct vulkan_batch **batch)
{
    struct backend_device *d = q->device;
    struct vulkan_batch *b = q->device->core->mem_alloc(sizeof(*b));
    if (b == NULL)
        return vulkan_no_memory(q->device->core, sizeof(*b));
    ssq_status st = vulkan_recording_open(d, BATCH_LAUNCHES, &b->rec);
    if (st == SSQ_OK)
        st = make_commands(d, b);
    if (st == SSQ_OK)
        st = make_times(d, b);
    if (st == SSQ_OK)
        st = make_fence(q, b);
    if (st != SSQ_OK) {
        vulkan_batch_destroy(q, b);
        return st;
    }
    q->nbatches++;
    pthread_mutex_lock(&d->lock);
    b->limit = q->limit;
    pthread_mutex_unlock(&d->lock);
    *batch = b;
    return SSQ_OK;
}

void vulkan_batch_destroy(struct backend_queue *q, struct vulkan_batch *b)
{
    struct backend_device *d = q->device;
    if (b->fence != VK_NULL_HANDLE)
        VK(DestroyFence)(d->vk, b->fence, NULL);
    if (b->times != VK_NULL_HANDLE)
        VK(DestroyQueryPool)(d->vk, b->times, NULL);
    if (b->pool != VK_NULL_HANDLE) /* and its command buffer */
        VK(DestroyCommandPool)(d->vk, b->pool, NULL);
    if (b->ticks != NULL)
        vulkan_mem_destroy(d, b->ticks);
    if (b->up != NULL)
        vulkan_mem_destroy(d, b->up);
    if (b->down != NULL)
        vulkan_mem_destroy(d, b->down);
    vulkan_recording_close(&b->rec);
    q->device->core->mem_free(b);
}

/* An idle batch; NULL: there is none, or *result says that the device could not
 * be asked. */
static struct vulkan_batch *take_idle(struct backend_queue *q, VkResult *result,
                                      const char **call)
{
    pthread_mutex_lock(&q->device->lock);
    *result = vulkan_retire(q, call);
    struct vulkan_batch *b = *result == VK_SUCCESS ? q->idle : NULL;
    if (b != NULL) {
        q->idle = b->next;
        b->limit = q->limit;
    }
    pthread_mutex_unlock(&q->device->lock);
    return b;
}

/* A batch that nothing is in: idle, new, or the oldest one waited for. */
static ssq_status take(struct backend_queue *q, struct vulkan_batch **batch)
{
    const char *call;
    VkResult e;
    *batch = take_idle(q, &e, &call);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, call, e);
    if (*batch != NULL)
        return SSQ_OK;
    if (q->nbatches < BATCH_COUNT && vulkan_batch_create(q, batch) == SSQ_OK)
        return SSQ_OK;
    e = vulkan_wait(q, 0, &call);
    if (e == VK_SUCCESS)
        *batch = take_idle(q, &e, &call);
    return e == VK_SUCCESS ? SSQ_OK : vulkan_queue_fail(q, call, e);
}

uint32_t vulkan_batch_time(struct vulkan_batch *b)
{
    uint32_t i = b->ntimes++;
    if (b->times != VK_NULL_HANDLE)
        VK(CmdWriteTimestamp)
    (b->rec.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->times, i);
    return i;
}

static bool is_full(const struct vulkan_batch *b)
{
    return b->rec.used == b->rec.room || b->launches >= b->limit;
}

ssq_status vulkan_batch_get(struct backend_queue *q,
                            struct vulkan_batch **batch)
{
    const VkCommandBufferBeginInfo once = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    ssq_status st = SSQ_OK;
    if (q->recording != NULL && is_full(q->recording))
        st = vulkan_batch_submit(q);
    *batch = q->recording;
    if (st == SSQ_OK && *batch != NULL)
        return SSQ_OK;
    if (st == SSQ_OK)
        st = take(q, batch);
    if (st != SSQ_OK)
        return st;
    struct vulkan_batch *b = *batch;
    q->recording = b;
    VkResult e = VK(ResetCommandPool)(q->device->vk, b->pool, 0);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkResetCommandPool", e);
    e = VK(BeginCommandBuffer)(b->rec.commands, &once);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkBeginCommandBuffer", e);
    if (b->times != VK_NULL_HANDLE)
        VK(CmdResetQueryPool)(b->rec.commands, b->times, 0, BATCH_TIMES);
    (void)vulkan_batch_time(b); /* when it began */
    return SSQ_OK;
}

ssq_status vulkan_batch_launch(struct backend_queue *q,
                               const struct launch *launch)
{
    struct vulkan_batch *b;
    ssq_status st = vulkan_batch_get(q, &b);
    if (st != SSQ_OK)
        return st;
    vulkan_record_launch(&b->rec, &q->hazards, launch);
    b->launches++;
    return SSQ_OK;
}

/* Note when the batch was over, and let the host see what it wrote. The times
 * are fetched by the device: llvmpipe cannot be asked for them from one thread
 * while it works in another. */
static VkResult end_commands(struct vulkan_batch *b)
{
    (void)vulkan_batch_time(b);
    if (b->times != VK_NULL_HANDLE)
        VK(CmdCopyQueryPoolResults)
    (b->rec.commands, b->times, 0, b->ntimes, b->ticks->buffer, 0,
     sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask =
                                         VK_ACCESS_SHADER_WRITE_BIT |
                                         VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VK(CmdPipelineBarrier)
    (b->rec.commands,
     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
     VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0, NULL);
    return VK(EndCommandBuffer)(b->rec.commands);
}

/* With the device's lock, which the VkQueue needs. */
static VkResult hand_over(struct backend_queue *q, struct vulkan_batch *b)
{
    VkSemaphore wait[BATCH_WAITS];
    VkPipelineStageFlags stage[BATCH_WAITS];
    uint64_t value[BATCH_WAITS];
    for (uint32_t i = 0; i < b->nwaits; i++) {
        wait[i] = b->waits[i]->timeline->semaphore;
        b->waits[i]->timeline->waited = true;
        value[i] = b->waits[i]->value;
        stage[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    }
    VkTimelineSemaphoreSubmitInfo times = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = b->nwaits,
        .pWaitSemaphoreValues = value,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &b->value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &b->rec.commands};
    if (q->timeline != NULL) {
        info.pNext = &times;
        info.waitSemaphoreCount = b->nwaits;
        info.pWaitSemaphores = wait;
        info.pWaitDstStageMask = stage;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &q->timeline->semaphore;
    }
    return vulkan_submit(q->device, &info, b->fence);
}

ssq_status vulkan_batch_submit(struct backend_queue *q)
{
    struct vulkan_batch *b = q->recording;
    if (b == NULL)
        return SSQ_OK;
    VkResult e = end_commands(b);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkEndCommandBuffer", e);
    if (b->fence != VK_NULL_HANDLE)
        e = VK(ResetFences)(q->device->vk, 1, &b->fence);
    if (e != VK_SUCCESS)
        return vulkan_queue_fail(q, "vkResetFences", e);
    b->value = q->value + 1;
    b->sequence = q->submitted;
    pthread_mutex_lock(&q->device->lock);
    e = hand_over(q, b);
    if (e == VK_SUCCESS) {
        q->value = b->value;
        q->recording = NULL;
        b->next = NULL;
        if (q->first == NULL)
            q->first = b;
        else
            q->last->next = b;
        q->last = b;
    }
    pthread_mutex_unlock(&q->device->lock);
    return e == VK_SUCCESS ? SSQ_OK : vulkan_queue_fail(q, "vkQueueSubmit", e);
}
