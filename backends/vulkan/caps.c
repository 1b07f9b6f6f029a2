/* SPDX-License-Identifier: Apache-2.0 */
/* caps.c - what a physical device can do, and whether that is enough. */
#include "backends/vulkan/features.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Bytes that a kernel's group shares at most: binary_sum's, which is
 * also what Vulkan promises. */
#define LOCAL_BYTES 16384u
/** Groups that are taken to run at a time where a device does not say: a guess,
 * on which speed depends and no result. */
#define UNITS_DISCRETE 32u
#define UNITS_OTHER    8u
/** Iterations of all its loops together after which an invocation leaves them
 * silently, in lavapipe before Mesa 26.1 (seen in 22.3, and not in 26.1); and
 * the groups that a launch is cut into there, to keep the loops over long rows
 * short. */
#define LAVAPIPE_ITERATIONS 65535u
#define LAVAPIPE_ENDLESS    VK_MAKE_API_VERSION(0, 26, 1, 0)
#define UNITS_LAVAPIPE      64u
/** Families of queues that are looked at. */
#define MOST_FAMILIES 32u

/* All that a physical device was asked: features and properties. */
struct answers {
    struct vulkan_features f;
    struct vulkan_properties p;
};

/* Refuse a device: its name and the reason. */
static ssq_status caps_no(struct why *why, const struct vulkan_caps *c,
                          const char *format, ...)
{
    int at = snprintf(why->text, sizeof(why->text), "%.64s: ", c->name);
    va_list args;
    va_start(args, format);
    if (at > 0)
        vsnprintf(why->text + at, sizeof(why->text) - (size_t)at, format, args);
    va_end(args);
    return SSQ_ERR_UNSUPPORTED;
}

/* A name and a version, in the driver's words or by its numbers. */
static void caps_driver_words(const struct answers *a, struct vulkan_caps *c)
{
    const VkPhysicalDeviceDriverProperties *d = &a->p.driver;
    uint32_t v = a->p.base.properties.driverVersion;
    if (d->driverName[0] != '\0')
        snprintf(c->driver, sizeof(c->driver), "%.100s%s%.100s", d->driverName,
                 d->driverInfo[0] == '\0' ? "" : " ", d->driverInfo);
    else
        snprintf(c->driver, sizeof(c->driver), "version %u.%u.%u",
                 VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v),
                 VK_API_VERSION_PATCH(v));
}

/* Groups that run at a time: processors of a processor, else what one of the
 * vendors' extensions says, else a guess. */
static uint32_t units_of(const struct answers *a, VkPhysicalDeviceType type)
{
    uint32_t n = 0;
    const VkPhysicalDeviceShaderCorePropertiesAMD *amd = &a->p.amd;
    if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        n = processors < 1 ? 1 : (uint32_t)processors;
    } else if (amd->computeUnitsPerShaderArray != 0) {
        n = amd->shaderEngineCount * amd->shaderArraysPerEngineCount *
            amd->computeUnitsPerShaderArray;
    } else if (a->p.nv.shaderSMCount != 0) {
        n = a->p.nv.shaderSMCount;
    } else {
        n = a->p.arm.shaderCoreCount;
    }
    if (n != 0)
        return n;
    return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? UNITS_DISCRETE
                                                        : UNITS_OTHER;
}

/* Does this driver's compiler end long loops? See LAVAPIPE_ITERATIONS. */
static bool loops_end(const struct answers *a)
{
    return a->p.driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE &&
           a->p.base.properties.driverVersion < LAVAPIPE_ENDLESS;
}

/* The lesser of a limit and another one, which is 0 where the device does not
 * say it. */
static uint64_t caps_less(uint64_t a, uint64_t b)
{
    return b != 0 && b < a ? b : a;
}

static void caps_read_limits(const struct answers *a, struct vulkan_caps *c)
{
    const VkPhysicalDeviceProperties *p = &a->p.base.properties;
    const VkPhysicalDeviceLimits *l = &p->limits;
    uint64_t align = l->minStorageBufferOffsetAlignment;
    snprintf(c->name, sizeof(c->name), "%s", p->deviceName);
    caps_driver_words(a, c);
    c->type = p->deviceType;
    c->vendor = p->vendorID;
    c->id = p->deviceID;
    memcpy(c->cache_uuid, p->pipelineCacheUUID, sizeof(c->cache_uuid));
    c->timestamp_period = l->timestampPeriod;
    c->binding_bytes = l->maxStorageBufferRange;
    c->most_bytes =
        caps_less(UINT64_MAX, a->p.maintenance3.maxMemoryAllocationSize);
    c->most_bytes = caps_less(c->most_bytes, a->p.maintenance4.maxBufferSize);
    c->local_bytes = l->maxComputeSharedMemorySize;
    c->units = units_of(a, c->type);
    if (loops_end(a)) {
        c->iterations = LAVAPIPE_ITERATIONS;
        c->units = c->units < UNITS_LAVAPIPE ? UNITS_LAVAPIPE : c->units;
    }
    c->bindings = l->maxPerStageDescriptorStorageBuffers;
    if (l->maxDescriptorSetStorageBuffers < c->bindings)
        c->bindings = l->maxDescriptorSetStorageBuffers;
    c->budget = a->p.budget;
    c->memory_fd = a->p.memory_fd;
    c->semaphore_fd = a->p.semaphore_fd;
    c->storage_align = align < 4 ? 4 : (uint32_t)align;
    c->unified = c->type == VK_PHYSICAL_DEVICE_TYPE_CPU ||
                 c->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

static void read_features(const struct answers *a, struct vulkan_caps *c)
{
    const struct vulkan_features *f = &a->f;
    const VkPhysicalDeviceFloatControlsProperties *fc = &a->p.float_controls;
    /* A mode may be set for 32 bits alone where the others need not have the
     * same: only then is it asked for. */
    bool denorm = fc->denormBehaviorIndependence !=
                  VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    bool rounding = fc->roundingModeIndependence !=
                    VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    c->int16 = f->base.features.shaderInt16;
    c->int8 = f->arithmetic.shaderInt8;
    c->storage16 = f->storage16.storageBuffer16BitAccess;
    c->storage8 = f->storage8.storageBuffer8BitAccess;
    c->timeline = f->timeline.timelineSemaphore;
    c->denorm_preserve = fc->shaderDenormPreserveFloat32 && denorm;
    c->nan_preserve = fc->shaderSignedZeroInfNanPreserveFloat32;
    c->round_even = fc->shaderRoundingModeRTEFloat32 && rounding;
    c->coopmat = f->coopmat.cooperativeMatrix && f->arithmetic.shaderFloat16 &&
                 f->memory_model.vulkanMemoryModel;
    c->shader_bfloat16 = c->coopmat && f->bfloat16.shaderBFloat16Type &&
                         f->bfloat16.shaderBFloat16CooperativeMatrix;
    c->statistics = c->coopmat && f->executable.pipelineExecutableInfo;
    c->subgroup = a->p.subgroup.subgroupSize;
    c->subgroup_least = c->subgroup_most = c->subgroup;
    c->subgroup_control = f->subgroup.subgroupSizeControl &&
                          f->subgroup.computeFullSubgroups &&
                          (a->p.subgroup_size.requiredSubgroupSizeStages &
                           VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    if (c->subgroup_control) {
        c->subgroup_least = a->p.subgroup_size.minSubgroupSize;
        c->subgroup_most = a->p.subgroup_size.maxSubgroupSize;
    }
}

/* Choose a family of queues that compute: best one that does not draw, because
 * it runs beside what a desktop draws, and that has a clock. False: there is
 * none. */
static bool find_family(VkPhysicalDevice physical, struct vulkan_caps *c)
{
    VkQueueFamilyProperties2 family[MOST_FAMILIES];
    uint32_t n = 0;
    bool found = false;
    VK(GetPhysicalDeviceQueueFamilyProperties2)(physical, &n, NULL);
    n = n < MOST_FAMILIES ? n : MOST_FAMILIES;
    for (uint32_t i = 0; i < n; i++)
        family[i] = (VkQueueFamilyProperties2){
            .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2};
    VK(GetPhysicalDeviceQueueFamilyProperties2)(physical, &n, family);
    for (uint32_t i = 0; i < n; i++) {
        const VkQueueFamilyProperties *p = &family[i].queueFamilyProperties;
        bool draws = (p->queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if ((p->queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || p->queueCount == 0 ||
            (found && (draws || p->timestampValidBits == 0)))
            continue;
        c->family = i;
        c->timestamp_bits = p->timestampValidBits;
        found = true;
        if (!draws)
            break;
    }
    return found;
}

/* Look at the heaps: the largest of the device's own is its memory. False:
 * coherent memory that the host can map is missing, on which staging and
 * parameters rely. */
static bool read_memory(VkPhysicalDevice physical, struct vulkan_caps *c)
{
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties2 m = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    uint64_t own = 0, largest = 0;
    bool coherent = false;
    VK(GetPhysicalDeviceMemoryProperties2)(physical, &m);
    c->memory = m.memoryProperties;
    for (uint32_t i = 0; i < c->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *h = &c->memory.memoryHeaps[i];
        if (h->size > largest)
            largest = h->size;
        if ((h->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && h->size > own)
            own = h->size;
    }
    c->memory_bytes = own != 0 ? own : largest;
    for (uint32_t i = 0; i < c->memory.memoryTypeCount; i++)
        if ((c->memory.memoryTypes[i].propertyFlags & host) == host)
            coherent = true;
    return coherent;
}

/* Refuse a device that lacks a feature that every kernel needs, and say what a
 * user may do about it. */
static ssq_status enough(const struct answers *a, const struct vulkan_caps *c,
                         struct why *why)
{
    const VkPhysicalDeviceLimits *l = &a->p.base.properties.limits;
    if (!c->storage16)
        return caps_no(why, c,
                       "its driver has no 16-bit storage "
                       "(storageBuffer16BitAccess): a newer one may");
    if (!a->f.layout.uniformBufferStandardLayout)
        return caps_no(
            why, c,
            "its driver has neither Vulkan 1.2 nor "
            "VK_KHR_uniform_buffer_standard_layout: a newer one may");
    if (c->bindings < LAUNCH_BINDINGS)
        return caps_no(why, c, "%u storage buffers in a kernel, %u are needed",
                       c->bindings, LAUNCH_BINDINGS);
    if (l->maxComputeWorkGroupInvocations < VULKAN_GROUP ||
        l->maxComputeWorkGroupSize[0] < VULKAN_GROUP)
        return caps_no(why, c, "groups of %u invocations, %u are needed",
                       l->maxComputeWorkGroupInvocations, VULKAN_GROUP);
    if (c->local_bytes < LOCAL_BYTES)
        return caps_no(why, c, "%u bytes of shared memory, %u are needed",
                       c->local_bytes, LOCAL_BYTES);
    if (c->storage_align > VULKAN_ALIGN ||
        l->minUniformBufferOffsetAlignment > VULKAN_ALIGN)
        return caps_no(why, c,
                       "buffers begin at multiples of %u bytes, not of %u",
                       c->storage_align, VULKAN_ALIGN);
    return SSQ_OK;
}

ssq_status vulkan_caps_get(const struct services *core,
                           VkPhysicalDevice physical, uint32_t api,
                           struct vulkan_caps *c, struct why *why)
{
    struct answers a;
    VkPhysicalDeviceProperties2 plain = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    memset(c, 0, sizeof(*c));
    VK(GetPhysicalDeviceProperties2)(physical, &plain);
    snprintf(c->name, sizeof(c->name), "%s", plain.properties.deviceName);
    c->api = plain.properties.apiVersion;
    if (c->api < VK_API_VERSION_1_1)
        return caps_no(why, c, "its driver has Vulkan %u.%u, 1.1 is needed",
                       VK_API_VERSION_MAJOR(c->api),
                       VK_API_VERSION_MINOR(c->api));
    /* features that the instance was not created for must not be used, even if
     * the device has them */
    if (c->api > api)
        c->api = api;
    ssq_status st = vulkan_features_ask(core, physical, c->api, &a.f, &a.p);
    if (st != SSQ_OK) {
        (void)caps_no(why, c, "%s", core->error_text());
        return st;
    }
    caps_read_limits(&a, c);
    read_features(&a, c);
    if (!find_family(physical, c))
        return caps_no(why, c, "it has no queue that computes");
    if (!read_memory(physical, c))
        return caps_no(why, c,
                       "it has no coherent memory that the host can map");
    return enough(&a, c, why);
}

void vulkan_caps_log(const struct backend_device *d)
{
    const struct vulkan_caps *c = &d->caps;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType =
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 m = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
        .pNext = c->budget ? &budget : NULL};
    VK(GetPhysicalDeviceMemoryProperties2)(d->physical, &m);
    d->core->log_line(
        SSQ_LOG_INFO, "vulkan",
        "%s: subgroups of %u, %u units, %u bytes shared, timeline %d, int16 "
        "%d, int8 %d, 8-bit storage %d, float32 denorms %d, NaN %d, nearest "
        "%d, cooperative matrix %d, bf16 %d",
        c->name, c->subgroup, c->units, c->local_bytes, c->timeline, c->int16,
        c->int8, c->storage8, c->denorm_preserve, c->nan_preserve,
        c->round_even, c->coopmat, c->shader_bfloat16);
    for (uint32_t i = 0; i < m.memoryProperties.memoryHeapCount; i++) {
        const VkMemoryHeap *h = &m.memoryProperties.memoryHeaps[i];
        char use[64] = "use unknown";
        if (c->budget)
            snprintf(use, sizeof(use), "%llu MiB used of at most %llu",
                     (unsigned long long)(budget.heapUsage[i] >> 20),
                     (unsigned long long)(budget.heapBudget[i] >> 20));
        d->core->log_line(SSQ_LOG_INFO, "vulkan", "%s: heap %u: %llu MiB%s, %s",
                          c->name, i, (unsigned long long)(h->size >> 20),
                          (h->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0
                              ? " of its own"
                              : "",
                          use);
    }
}
