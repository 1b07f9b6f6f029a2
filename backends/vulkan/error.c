/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors of calls, of the host's memory, and of a device that is
 * lost. */
#include "backends/vulkan/vulkan.h"

#include <stdio.h>

ssq_status vulkan_no_memory(const struct services *core, size_t bytes)
{
    return core->error_set(SSQ_ERR_NOMEM,
                           "vulkan: no host memory for %zu bytes", bytes);
}

/* Results after which a program may free something and try again. */
static bool means_no_memory(VkResult e)
{
    return e == VK_ERROR_OUT_OF_HOST_MEMORY ||
           e == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
           e == VK_ERROR_OUT_OF_POOL_MEMORY || e == VK_ERROR_FRAGMENTED_POOL ||
           e == VK_ERROR_TOO_MANY_OBJECTS;
}

ssq_status vulkan_error(const struct services *core, const char *call,
                        VkResult result)
{
    return core->error_set(
        means_no_memory(result) ? SSQ_ERR_NOMEM : SSQ_ERR_DEVICE,
        "vulkan: %s: %s (%d)", call, vulkan_result_name(result), (int)result);
}

ssq_status vulkan_device_check(struct backend_device *d)
{
    pthread_mutex_lock(&d->lock);
    ssq_status st = d->status;
    pthread_mutex_unlock(&d->lock);
    /* read without the lock: the text of a failure is never written again */
    return st == SSQ_OK ? SSQ_OK : d->core->error_set(st, "%s", d->text);
}

ssq_status vulkan_device_lost(struct backend_device *d, const char *call,
                              VkResult result, const char *detail)
{
    pthread_mutex_lock(&d->lock);
    if (d->status == SSQ_OK) {
        d->status = SSQ_ERR_DEVICE;
        snprintf(d->text, sizeof(d->text), "vulkan: %s: %s (%d)%s%s", call,
                 vulkan_result_name(result), (int)result,
                 detail[0] == '\0' ? "" : "; ", detail);
    }
    pthread_mutex_unlock(&d->lock);
    return vulkan_device_check(d);
}
