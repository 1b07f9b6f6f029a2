/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - the caller's own device and buffers.
 *
 * Vulkan does not count references: the caller's objects are used and never
 * destroyed, and the caller keeps them while the device is open. */
#include "backends/vulkan/vulkan.h"

#include <sesqui/vulkan.h>

#include <stdlib.h>
#include <string.h>

#define MOST_FAMILIES 32u

/* Clear the caps that the caller's device was created without. Vulkan cannot be
 * asked for them: the caller lists them in `on`. Float controls have no
 * feature, and from Vulkan 1.2 on they need no extension. */
static void keep_enabled(struct vulkan_caps *c, uint32_t on)
{
    bool controls =
        (on & SSQ_VULKAN_FLOAT_CONTROLS) != 0 || c->api >= VK_API_VERSION_1_2;
    c->int16 = c->int16 && (on & SSQ_VULKAN_INT16) != 0;
    c->int8 = c->int8 && (on & SSQ_VULKAN_INT8) != 0;
    c->storage8 = c->storage8 && (on & SSQ_VULKAN_STORAGE8) != 0;
    c->timeline = c->timeline && (on & SSQ_VULKAN_TIMELINE) != 0;
    c->memory_fd = c->memory_fd && (on & SSQ_VULKAN_MEMORY_FD) != 0;
    c->semaphore_fd = c->semaphore_fd && (on & SSQ_VULKAN_SEMAPHORE_FD) != 0;
    c->denorm_preserve = c->denorm_preserve && controls;
    c->nan_preserve = c->nan_preserve && controls;
    c->round_even = c->round_even && controls;
    c->coopmat = c->coopmat && (on & SSQ_VULKAN_COOPMAT) != 0;
    c->shader_bfloat16 =
        c->shader_bfloat16 && c->coopmat && (on & SSQ_VULKAN_BFLOAT16) != 0;
    c->statistics = false; /* `on` has no bit for it */
    if ((on & SSQ_VULKAN_SUBGROUP_CONTROL) == 0) {
        c->subgroup_control = false;
        c->subgroup_least = c->subgroup_most = c->subgroup;
    }
}

/* Take the caller's family of queues, if it computes, with the clock that it
 * has. */
static ssq_status take_family(const struct services *core,
                              VkPhysicalDevice physical, uint32_t family,
                              struct vulkan_caps *c)
{
    VkQueueFamilyProperties2 f[MOST_FAMILIES];
    uint32_t n = MOST_FAMILIES;
    for (uint32_t i = 0; i < n; i++)
        f[i] = (VkQueueFamilyProperties2){
            .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2};
    VK(GetPhysicalDeviceQueueFamilyProperties2)(physical, &n, f);
    if (family >= n || (f[family].queueFamilyProperties.queueFlags &
                        VK_QUEUE_COMPUTE_BIT) == 0)
        return core->error_set(SSQ_ERR_INVALID,
                               "vulkan: queue family %u does not compute",
                               (unsigned)family);
    c->family = family;
    c->timestamp_bits = f[family].queueFamilyProperties.timestampValidBits;
    return SSQ_OK;
}

/* The caps of the physical device, less what the caller has not switched on;
 * *i: its number among the devices listed, under which the core knows it. */
static ssq_status take_caps(const struct backend_instance *instance,
                            const ssq_vulkan_native *n, struct vulkan_caps *c,
                            unsigned *i)
{
    const struct services *core = instance->core;
    struct why why = {""};
    if (n->api_version < VK_API_VERSION_1_1)
        return core->error_set(SSQ_ERR_INVALID,
                               "vulkan: api_version is less than 1.1");
    ssq_status st = vulkan_caps_get(core, n->physical, n->api_version, c, &why);
    if (st != SSQ_OK)
        return core->error_set(st == SSQ_ERR_NOMEM ? st : SSQ_ERR_NOT_FOUND,
                               "vulkan: %s", why.text);
    if (!vulkan_device_find(instance, c, i))
        return core->error_set(SSQ_ERR_NOT_FOUND,
                               "vulkan: %s is not one of the devices here",
                               c->name);
    keep_enabled(c, n->features);
    return take_family(core, n->physical, n->family, c);
}

ssq_status vulkan_open_native(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device)
{
    const ssq_vulkan_native *n = handles[0];
    struct backend_device *d = vulkan_device_new(instance->core);
    if (d == NULL)
        return SSQ_ERR_NOMEM;
    d->adopted = true;
    d->instance = n->instance;
    d->physical = n->physical;
    d->vk = n->device;
    d->queue = n->queue;
    d->queue_lock = (struct vulkan_queue_lock){n->lock, n->unlock, n->user};
    ssq_status st = take_caps(instance, n, &d->caps, i);
    if (st == SSQ_OK)
        st = vulkan_read_environment(d);
    if (st == SSQ_OK)
        st = vulkan_device_begin(d);
    if (st == SSQ_OK)
        *device = d;
    else
        vulkan_device_close(d);
    return st;
}

ssq_status vulkan_import(struct backend_device *d, const void *handle,
                         struct backend_mem **mem)
{
    const uint64_t *words = handle; /* the VkBuffer, its bytes */
    if (words[1] > d->caps.most_bytes)
        return d->core->error_set(
            SSQ_ERR_UNSUPPORTED,
            "vulkan: the buffer has %llu bytes, this device's have %llu",
            (unsigned long long)words[1],
            (unsigned long long)d->caps.most_bytes);
    struct vulkan_mem *m = d->core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return vulkan_no_memory(d->core, sizeof(*m));
    /* a VkBuffer is a pointer on some machines and a number on others */
    memcpy(&m->buffer, &words[0], sizeof(m->buffer));
    m->borrowed = true;
    m->mem.bytes = words[1];
    *mem = &m->mem;
    return SSQ_OK;
}

void *vulkan_mem_handle(const struct backend_mem *mem)
{
    /* to be read only: the interop header's function copies it */
    return (void *)(uintptr_t) & ((const struct vulkan_mem *)mem)->buffer;
}

void vulkan_info(const struct backend_device *d, void *info)
{
    ssq_vulkan_info x = SSQ_VULKAN_INFO_INIT;
    x.instance = d->instance;
    x.physical = d->physical;
    x.device = d->vk;
    x.queue = d->queue;
    x.family = d->caps.family;
    x.timelines = d->caps.timeline;
    memcpy(info, &x, sizeof(x));
}

uint64_t vulkan_mem_identity(const struct backend_mem *mem)
{
    const struct vulkan_mem *m = (const struct vulkan_mem *)mem;
    uint64_t number = 0; /* a VkBuffer has 4 or 8 bytes */
    memcpy(&number, &m->buffer, sizeof(m->buffer));
    return number;
}
