/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - a Vulkan device: opened and closed, and what the core is told of
 * it. */
#include "backends/vulkan/features.h"

#include "backends/common/room.h"

#include <stdio.h>
#include <string.h>

/** One slab of the pool; less where one binding may not have as much. */
#define SLAB_BYTES (UINT64_C(64) << 20)
/* Memory that vkCreateDevice maps. Measured under RLIMIT_AS with lavapipe of
 * Mesa 22.3 on 2 processors, where less than 537 MiB ends the process. 6
 * threads take part of that, two of which are one for each processor, of which
 * Mesa counts 32 at most; the rest is the memory that malloc reserves for
 * threads. */
static const struct room_need to_open = {.call = "vkCreateDevice",
                                         .own_mib = 128,
                                         .threads = 4,
                                         .threads_per_cpu = 1,
                                         .cpus_most = 32};
/* Mesa maps the index of its cache, 1310728 bytes, from a file with holes:
 * where a full disk has no block for one, the process ends with SIGBUS. */
static const struct room_cache mesa_cache = {.variable =
                                                 "MESA_SHADER_CACHE_DIR",
                                             .below = "mesa_shader_cache",
                                             .off = "MESA_SHADER_CACHE_DISABLE",
                                             .bytes = UINT64_C(4) << 20};
/** Milliseconds that a submission should take at most, if no one says: a
 * desktop that waits for its GPU still seems to move. */
#define SUBMIT_MS 100u

struct backend_device *vulkan_device_new(const struct services *core)
{
    struct backend_device *d = core->mem_alloc(sizeof(*d));
    if (d == NULL || pthread_mutex_init(&d->lock, NULL) != 0) {
        core->mem_free(d);
        (void)vulkan_no_memory(core, sizeof(*d));
        return NULL;
    }
    d->core = core;
    return d;
}

void vulkan_device_close(struct backend_device *d)
{
    vulkan_coopmat_close(d);
    if (d->kernels_open)
        vulkan_kernels_close(d);
    if (d->layout != VK_NULL_HANDLE)
        VK(DestroyPipelineLayout)(d->vk, d->layout, NULL);
    if (d->set_layout != VK_NULL_HANDLE)
        VK(DestroyDescriptorSetLayout)(d->vk, d->set_layout, NULL);
    if (!d->adopted && d->vk != VK_NULL_HANDLE)
        VK(DestroyDevice)(d->vk, NULL);
    if (!d->adopted && d->instance != VK_NULL_HANDLE)
        VK(DestroyInstance)(d->instance, NULL);
    pthread_mutex_destroy(&d->lock);
    d->core->mem_free(d);
}

/* Read the variables:
 * - SSQ_VULKAN_TIMELINE as 0 does without timeline semaphores, as on a device
 *   that has none
 * - SSQ_VULKAN_SUBMIT_MS: how long a submission should take
 * - SSQ_VULKAN_THREADS: how many threads compile kernels; 0: the thread that
 *   requests them */
ssq_status vulkan_read_environment(struct backend_device *d)
{
    bool timeline = true;
    uint64_t ms = SUBMIT_MS, threads = vulkan_compile_processors();
    ssq_status st = d->core->env_flag("SSQ_VULKAN_TIMELINE", &timeline);
    if (st == SSQ_OK)
        st = d->core->env_number("SSQ_VULKAN_SUBMIT_MS", 1, 1000000, &ms);
    if (st == SSQ_OK)
        st = d->core->env_number("SSQ_VULKAN_THREADS", 0, VULKAN_THREADS,
                                 &threads);
    d->caps.timeline = d->caps.timeline && timeline;
    d->submission_ns = ms * 1000000u;
    d->threads = (unsigned)threads;
    return st;
}

/* Find the calls for timeline semaphores, under the name that the device
 * has. */
static void find_timeline(struct backend_device *d)
{
    bool core = d->caps.api >= VK_API_VERSION_1_2;
    if (!d->caps.timeline)
        return;
    d->timeline.wait = (PFN_vkWaitSemaphores)VK(GetDeviceProcAddr)(
        d->vk, core ? "vkWaitSemaphores" : "vkWaitSemaphoresKHR");
    d->timeline.value = (PFN_vkGetSemaphoreCounterValue)VK(GetDeviceProcAddr)(
        d->vk,
        core ? "vkGetSemaphoreCounterValue" : "vkGetSemaphoreCounterValueKHR");
    d->caps.timeline = d->timeline.wait != NULL && d->timeline.value != NULL;
}

/* The layout of every kernel's set: all bindings, used or not. The parameters'
 * buffer is a dynamic one: its offset is given when the set is bound. */
static ssq_status make_set_layout(struct backend_device *d)
{
    VkDescriptorSetLayoutBinding b[LAUNCH_BINDINGS + 1];
    for (uint32_t i = 0; i <= LAUNCH_BINDINGS; i++)
        b[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = i == VULKAN_PARAM_BINDING
                                  ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC
                                  : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = LAUNCH_BINDINGS + 1,
        .pBindings = b};
    VkResult e =
        VK(CreateDescriptorSetLayout)(d->vk, &info, NULL, &d->set_layout);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(d->core, "vkCreateDescriptorSetLayout", e);
}

static ssq_status vulkan_device_make_layout(struct backend_device *d)
{
    ssq_status st = make_set_layout(d);
    if (st != SSQ_OK)
        return st;
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &d->set_layout};
    VkResult e = VK(CreatePipelineLayout)(d->vk, &info, NULL, &d->layout);
    return e == VK_SUCCESS ? SSQ_OK
                           : vulkan_error(d->core, "vkCreatePipelineLayout", e);
}

ssq_status vulkan_device_begin(struct backend_device *d)
{
    find_timeline(d);
    vulkan_share_find(d);
    ssq_status st = vulkan_device_make_layout(d);
    if (st == SSQ_OK)
        st = vulkan_kernels_open(d);
    d->kernels_open = st == SSQ_OK;
    if (st == SSQ_OK)
        st = vulkan_coopmat_open(d);
    return st;
}

/* Make a VkDevice with the features and extensions that the kernels need, and
 * no more, and with one queue. */
static ssq_status make_device(struct backend_device *d)
{
    static const float priority = 1.0f;
    const char *extensions[VULKAN_EXTENSIONS];
    struct vulkan_features features;
    uint32_t n = vulkan_features_wanted(&d->caps, &features, extensions);
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = d->caps.family,
        .queueCount = 1,
        .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType =
                                         VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features.base,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = n,
                                     .ppEnabledExtensionNames = extensions};
    VkResult e = VK(CreateDevice)(d->physical, &info, NULL, &d->vk);
    if (e != VK_SUCCESS) {
        d->vk = VK_NULL_HANDLE;
        return vulkan_error(d->core, "vkCreateDevice", e);
    }
    VK(GetDeviceQueue)(d->vk, d->caps.family, 0, &d->queue);
    return SSQ_OK;
}

/* Refuse where Mesa would find no room for its cache: see mesa_cache. */
static ssq_status check_disk(const struct backend_device *d)
{
    struct why why;
    if (strstr(d->caps.driver, "Mesa") == NULL ||
        room_for_cache(d->core, &mesa_cache, &why))
        return SSQ_OK;
    return d->core->error_set(SSQ_ERR_NOMEM, "vulkan: %s", why.text);
}

ssq_status vulkan_open(struct backend_instance *instance, unsigned i,
                       struct backend_device **device)
{
    struct why why;
    if (!room_for_driver(&to_open, &why))
        return instance->core->error_set(SSQ_ERR_NOMEM, "vulkan: %s", why.text);
    struct backend_device *d = vulkan_device_new(instance->core);
    if (d == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st =
        vulkan_instance_open(instance, i, &d->instance, &d->physical, &d->caps);
    if (st == SSQ_OK)
        st = vulkan_read_environment(d);
    if (st == SSQ_OK)
        st = check_disk(d);
    if (st == SSQ_OK)
        st = make_device(d);
    if (st == SSQ_OK)
        st = vulkan_device_begin(d);
    if (st != SSQ_OK) {
        vulkan_device_close(d);
        return st;
    }
    vulkan_caps_log(d);
    *device = d;
    return SSQ_OK;
}

/* Bytes of a buffer that one launch sees: the limit of a descriptor's range,
 * less the bytes that may lie before an operand, because a descriptor begins at
 * a multiple of storage_align. */
static uint64_t vulkan_device_binding_bytes(const struct vulkan_caps *c)
{
    uint64_t most =
        c->binding_bytes < c->most_bytes ? c->binding_bytes : c->most_bytes;
    return (most & ~(uint64_t)(VULKAN_ALIGN - 1)) - VULKAN_ALIGN;
}

/* All devices store f16 and bf16: they travel as 16-bit integers and are
 * computed in float32. */
#define HALF_CAPS                                                              \
    (SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED | SSQ_CAP_ARITHMETIC_EMULATED)

void vulkan_props(const struct backend_device *d, ssq_device_props *p)
{
    p->memory_bytes = d->caps.memory_bytes;
    p->binding_bytes = vulkan_device_binding_bytes(&d->caps);
    p->alignment = VULKAN_ALIGN;
    struct why why;
    uint32_t matrices = vulkan_coopmat_dtypes(d, &why);
    p->f16 = HALF_CAPS | (matrices >> SSQ_F16 & 1u) * SSQ_CAP_MATRIX;
    p->bf16 = HALF_CAPS | (matrices >> SSQ_BF16 & 1u) * SSQ_CAP_MATRIX;
    snprintf(p->refused, sizeof(p->refused), "%s", why.text);
    p->f32_subnormals = d->subnormals;
    p->host_memory = d->caps.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    p->asynchronous = true;
}

/* From here on other threads compile. The self-test's kernels are compiled by
 * the thread that requests them, because it must know which one failed. */
void vulkan_certified(struct backend_device *d, const struct findings *f)
{
    d->compile.most = d->threads;
    d->subnormals =
        f->subnormals ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
}

void vulkan_limits(const struct backend_device *d, struct backend_limits *l)
{
    l->binding_bytes = vulkan_device_binding_bytes(&d->caps);
    l->slab_bytes =
        l->binding_bytes < SLAB_BYTES ? l->binding_bytes : SLAB_BYTES;
    l->memory_bytes = d->caps.memory_bytes;
    l->group = VULKAN_GROUP;
    l->units = d->caps.units;
    l->local_bytes = d->caps.local_bytes;
    l->width = VULKAN_WIDTH;
    l->iterations = d->caps.iterations;
}
