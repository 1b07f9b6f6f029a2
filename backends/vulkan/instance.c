/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - which Vulkan devices there are, and an instance to open one.
 *
 * vulkan:N counts the devices of all drivers that can be used, the fastest kind
 * first and otherwise in the loader's order. They are read one time, with an
 * instance that is gone again; each device that is opened has an instance of
 * its own, so that it depends on no other. */
#include "backends/vulkan/vulkan.h"

#include "backends/common/room.h"

#include <stdio.h>
#include <string.h>

/* Measured under RLIMIT_AS: 220 MiB are mapped to load lavapipe of Mesa 22.3
 * with its LLVM; with less it is not found. */
static const struct room_need to_load = {.call = "vkCreateInstance",
                                         .own_mib = 192};

/** The physical devices of an instance that can be used, as found[]. */
struct listing {
    VkPhysicalDevice physical[VULKAN_MOST_DEVICES];
    struct vulkan_caps *caps; /* VULKAN_MOST_DEVICES of them */
    unsigned n;
    /* there was none to ask one of the ones that are passed over: then the list
     * is not what it should be */
    bool no_memory;
};

/* The latest version of Vulkan that both the loader and this backend know. */
static uint32_t instance_version(void)
{
    uint32_t api = VK_API_VERSION_1_0;
    if (VK(EnumerateInstanceVersion)(&api) != VK_SUCCESS)
        return VK_API_VERSION_1_0;
    return api < VK_API_VERSION_1_3 ? api : VK_API_VERSION_1_3;
}

/* An instance without layers and extensions. *instance is VK_NULL_HANDLE where
 * it fails. */
static VkResult instance_make_instance(VkInstance *instance)
{
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pEngineName = "sesqui",
                                   .apiVersion = instance_version()};
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app};
    *instance = VK_NULL_HANDLE;
    return VK(CreateInstance)(&info, NULL, instance);
}

/* How good a kind of device is: 0 for the best; an unknown kind comes
 * last. */
static int instance_rank(VkPhysicalDeviceType type)
{
    static const VkPhysicalDeviceType order[] = {
        VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
        VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
        VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_CPU};
    int i = 0;
    while (i < 4 && order[i] != type)
        i++;
    return i;
}

/* Put a device into the list, behind all that are as good. */
static void instance_insert(struct listing *l, VkPhysicalDevice physical,
                            const struct vulkan_caps *caps)
{
    unsigned at = l->n++;
    for (; at > 0 &&
           instance_rank(caps->type) < instance_rank(l->caps[at - 1].type);
         at--) {
        l->caps[at] = l->caps[at - 1];
        l->physical[at] = l->physical[at - 1];
    }
    l->caps[at] = *caps;
    l->physical[at] = physical;
}

/* Add to a reason, which is cut off where it gets too long. */
static void instance_append(struct why *reason, const char *text)
{
    size_t at = strlen(reason->text);
    snprintf(reason->text + at, sizeof(reason->text) - at, "%s%s",
             at == 0 ? "" : "; ", text);
}

/* List the devices that can be used; reason says why others are passed over,
 * one after the other. */
static VkResult list_devices(const struct services *core, VkInstance instance,
                             struct listing *l, struct why *reason)
{
    VkPhysicalDevice all[VULKAN_MOST_DEVICES];
    uint32_t n = VULKAN_MOST_DEVICES;
    VkResult e = VK(EnumeratePhysicalDevices)(instance, &n, all);
    l->n = 0;
    if (e != VK_SUCCESS && e != VK_INCOMPLETE)
        return e;
    for (uint32_t i = 0; i < n; i++) {
        struct vulkan_caps caps;
        struct why why = {""};
        ssq_status st =
            vulkan_caps_get(core, all[i], instance_version(), &caps, &why);
        if (st == SSQ_OK)
            instance_insert(l, all[i], &caps);
        else
            instance_append(reason, why.text);
        if (st == SSQ_ERR_NOMEM)
            l->no_memory = true;
    }
    return VK_SUCCESS;
}

/* The error that occurred before any device was seen. */
static const char *loader_says(VkResult e, struct why *reason)
{
    snprintf(reason->text, sizeof(reason->text),
             e == VK_ERROR_INCOMPATIBLE_DRIVER
                 ? "no Vulkan driver: install one (Debian: "
                   "mesa-vulkan-drivers, or the vendor's)"
                 : "the Vulkan loader: %s (%d)",
             vulkan_result_name(e), (int)e);
    return reason->text;
}

unsigned vulkan_count(struct backend_instance *instance, struct why *reason)
{
    struct listing l = {.caps = instance->found};
    VkInstance vk;
    reason->text[0] = '\0';
    if (!room_for_driver(&to_load, reason))
        return 0;
    if (instance_version() < VK_API_VERSION_1_1) {
        instance_append(reason,
                        "the Vulkan loader knows 1.0 only, 1.1 is needed");
        return 0;
    }
    VkResult e = instance_make_instance(&vk);
    if (e == VK_SUCCESS) {
        e = list_devices(instance->core, vk, &l, reason);
        VK(DestroyInstance)(vk, NULL);
    }
    if (e != VK_SUCCESS)
        (void)loader_says(e, reason);
    else if (l.n == 0 && reason->text[0] == '\0')
        instance_append(reason,
                        "the Vulkan drivers that are installed have no device");
    instance->found_count = l.n;
    return l.n;
}

int vulkan_preference_of(const struct backend_instance *instance, unsigned i)
{
    VkPhysicalDeviceType type = instance->found[i].type;
    /* a processor is best left to a backend that is made for it */
    return type == VK_PHYSICAL_DEVICE_TYPE_CPU     ? 4
           : type == VK_PHYSICAL_DEVICE_TYPE_OTHER ? 25
                                                   : 40;
}

void vulkan_describe(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes)
{
    const struct vulkan_caps *c = &instance->found[i];
    snprintf(text, bytes, "%.56s, %.48s, Vulkan %u.%u", c->name, c->driver,
             VK_API_VERSION_MAJOR(c->api), VK_API_VERSION_MINOR(c->api));
}

/* Is it the same device, with the same driver? The order of a list may have
 * changed since it was counted. */
static bool instance_same(const struct vulkan_caps *a,
                          const struct vulkan_caps *b)
{
    return a->vendor == b->vendor && a->id == b->id && a->type == b->type &&
           strcmp(a->name, b->name) == 0 && strcmp(a->driver, b->driver) == 0 &&
           memcmp(a->cache_uuid, b->cache_uuid, sizeof(a->cache_uuid)) == 0;
}

bool vulkan_device_find(const struct backend_instance *instance,
                        const struct vulkan_caps *caps, unsigned *i)
{
    for (*i = 0; *i < instance->found_count; ++*i)
        if (instance_same(&instance->found[*i], caps))
            return true;
    return false;
}

ssq_status vulkan_instance_open(const struct backend_instance *instance,
                                unsigned i, VkInstance *vk,
                                VkPhysicalDevice *physical,
                                struct vulkan_caps *caps)
{
    const struct services *core = instance->core;
    struct listing l = {.n = 0};
    struct why reason = {""};
    ssq_status st = SSQ_OK;
    VkResult e = instance_make_instance(vk);
    if (e != VK_SUCCESS)
        return vulkan_error(core, "vkCreateInstance", e);
    l.caps = core->mem_alloc(VULKAN_MOST_DEVICES * sizeof(*l.caps));
    if (l.caps == NULL) {
        st = vulkan_no_memory(core, VULKAN_MOST_DEVICES * sizeof(*l.caps));
    } else {
        e = list_devices(core, *vk, &l, &reason);
        if (e != VK_SUCCESS)
            st = vulkan_error(core, "vkEnumeratePhysicalDevices", e);
        else if (i >= l.n || !instance_same(&l.caps[i], &instance->found[i]))
            st = core->error_set(l.no_memory ? SSQ_ERR_NOMEM : SSQ_ERR_DEVICE,
                                 "vulkan: vulkan:%u (%.64s) is gone: %s", i,
                                 instance->found[i].name,
                                 reason.text[0] != '\0'
                                     ? reason.text
                                     : "the driver lists others");
    }
    if (st == SSQ_OK) {
        *physical = l.physical[i];
        *caps = l.caps[i];
    } else {
        VK(DestroyInstance)(*vk, NULL);
        *vk = VK_NULL_HANDLE;
    }
    core->mem_free(l.caps);
    return st;
}
