/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - the device's VkQueue, which all of its queues share, and perhaps
 * the caller.
 *
 * The device's lock keeps our queues apart, the caller's lock, taken after it,
 * keeps the caller away: it must call nothing of ours. */
#include "backends/vulkan/vulkan.h"

VkResult vulkan_submit(struct backend_device *d, const VkSubmitInfo *info,
                       VkFence fence)
{
    const struct vulkan_queue_lock *l = &d->queue_lock;
    if (l->lock != NULL)
        l->lock(l->user);
    VkResult e = VK(QueueSubmit)(d->queue, 1, info, fence);
    if (l->unlock != NULL)
        l->unlock(l->user);
    return e;
}

void vulkan_wait_idle(struct backend_device *d)
{
    const struct vulkan_queue_lock *l = &d->queue_lock;
    if (l->lock != NULL)
        l->lock(l->user);
    (void)VK(QueueWaitIdle)(d->queue);
    if (l->unlock != NULL)
        l->unlock(l->user);
}
