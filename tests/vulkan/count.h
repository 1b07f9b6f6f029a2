/* SPDX-License-Identifier: Apache-2.0 */
/* count.h - counts what the module asks of Vulkan, and asks it.
 *
 * The module calls Vulkan through a table that it exports to tests; here the
 * entries of interest are replaced by functions that count and pass on. */
#ifndef TESTS_VULKAN_COUNT_H
#define TESTS_VULKAN_COUNT_H

#include "backends/vulkan/calls.h"
#include "tests/core/driver.h"

static struct {
    struct vulkan_calls real;  /* the table as it was */
    PFN_vkWaitSemaphores wait; /* found by name, once there is a device */
    /* since they were set to 0 */
    long submits, waits, idles, copies, barriers, updates, dispatches;
} vk;

static VKAPI_ATTR VkResult VKAPI_CALL count_submit(VkQueue q, uint32_t n,
                                                   const VkSubmitInfo *i,
                                                   VkFence f)
{
    vk.submits += n;
    return vk.real.QueueSubmit(q, n, i, f);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_wait(VkDevice d,
                                                 const VkSemaphoreWaitInfo *i,
                                                 uint64_t timeout)
{
    vk.waits++;
    return vk.wait(d, i, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_idle(VkQueue q)
{
    vk.waits++;
    vk.idles++;
    return vk.real.QueueWaitIdle(q);
}

static VKAPI_ATTR void VKAPI_CALL count_copy(VkCommandBuffer c, VkBuffer a,
                                             VkBuffer b, uint32_t n,
                                             const VkBufferCopy *parts)
{
    vk.copies++;
    vk.real.CmdCopyBuffer(c, a, b, n, parts);
}

/* Those between commands: not the one for the host at a submission's end. */
static VKAPI_ATTR void VKAPI_CALL count_barrier(
    VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *m, uint32_t nb,
    const VkBufferMemoryBarrier *b, uint32_t ni, const VkImageMemoryBarrier *i)
{
    vk.barriers += to != VK_PIPELINE_STAGE_HOST_BIT;
    vk.real.CmdPipelineBarrier(c, from, to, f, n, m, nb, b, ni, i);
}

static VKAPI_ATTR void VKAPI_CALL count_update(VkDevice d, uint32_t n,
                                               const VkWriteDescriptorSet *w,
                                               uint32_t nc,
                                               const VkCopyDescriptorSet *c)
{
    vk.updates += w->descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    vk.real.UpdateDescriptorSets(d, n, w, nc, c);
}

static VKAPI_ATTR void VKAPI_CALL count_dispatch(VkCommandBuffer c, uint32_t x,
                                                 uint32_t y, uint32_t z)
{
    vk.dispatches++;
    vk.real.CmdDispatch(c, x, y, z);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL count_by_name(VkDevice device,
                                                              const char *name)
{
    PFN_vkVoidFunction real = vk.real.GetDeviceProcAddr(device, name);

    if (real == NULL || strncmp(name, "vkWaitSemaphores", 16) != 0)
        return real;
    vk.wait = (PFN_vkWaitSemaphores)real;
    return (PFN_vkVoidFunction)count_wait;
}

/* Stand between the module and Vulkan; to be called before a device is
 * opened. */
static inline void count_between(void)
{
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");

    vk.real = *table;
    table->QueueSubmit = count_submit;
    table->QueueWaitIdle = count_idle;
    table->CmdCopyBuffer = count_copy;
    table->CmdPipelineBarrier = count_barrier;
    table->UpdateDescriptorSets = count_update;
    table->CmdDispatch = count_dispatch;
    table->GetDeviceProcAddr = count_by_name;
}

static inline void count_begin(void)
{
    vk.submits = vk.waits = vk.idles = vk.copies = vk.barriers = 0;
    vk.updates = vk.dispatches = 0;
}

/* Compile the kernels of fills and copies on another queue: commands that come
 * after a kernel that is still compiled are recorded later. */
static inline void count_compiled(ssq_device *device)
{
    ssq_queue *q = core_queue(device);
    ssq_tensor *x = core_vector(device, SSQ_F32, 4);
    ssq_tensor *y = core_vector(device, SSQ_F32, 4);

    driver_fill(q, x, 0);
    driver_copy(q, x, y);
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
}

#endif
