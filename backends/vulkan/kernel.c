/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - kernels of a device: pipelines, made at their first use, and what
 * the driver compiled for them, kept on the disk from one run to the next. */
#include "backends/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/core/module/disk_cache.h"
#include "backends/common/room.h"

/* "vulkan: kernel unary KIND=3: vkCreateShaderModule: ..." */
static ssq_status named_error(const struct services *core, const char *name,
                              const char *call, VkResult e)
{
    ssq_status st = vulkan_error(core, call, e);
    return core->error_set(st, "vulkan: kernel %s: %s: %s (%d)", name, call,
                           vulkan_result_name(e), (int)e);
}

/* The kernel's SPIR-V as a shader module. A module that was given to the driver
 * is copied there: the words are freed immediately. */
static ssq_status make_shader(struct backend_device *d,
                              const struct kernel_map_entry *e,
                              const char *name, VkShaderModule *shader)
{
    uint32_t *words, *module;
    size_t n, bytes;
    ssq_status st = vulkan_module(d->core, e->kernel, e->key, name, &words, &n);
    if (st != SSQ_OK)
        return st;
    st = vulkan_spirv(d->core, &d->caps, name, words, n, &module, &bytes);
    d->core->mem_free(words);
    if (st != SSQ_OK)
        return st;
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = bytes,
        .pCode = module};
    VkResult r = VK(CreateShaderModule)(d->vk, &info, NULL, shader);
    d->core->mem_free(module);
    return r == VK_SUCCESS
               ? SSQ_OK
               : named_error(d->core, name, "vkCreateShaderModule", r);
}

/** Nanoseconds of compiling after which the log reports it, and reports it
 * again: a first step that waits longer needs an explanation. */
#define REPORT_NS UINT64_C(2000000000)

static uint64_t kernel_clock(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Count a pipeline that took ns. */
static void kernel_count(struct backend_device *d, const char *name,
                         uint64_t ns)
{
    pthread_mutex_lock(&d->lock);
    unsigned compiled = ++d->compiled;
    uint64_t all = d->compile_ns += ns;
    bool report = all - d->compile_reported >= REPORT_NS;
    if (report)
        d->compile_reported = all;
    pthread_mutex_unlock(&d->lock);
    d->core->log_line(SSQ_LOG_DEBUG, "vulkan", "kernel %s: compiled in %.1f ms",
                      name, (double)ns / 1e6);
    if (report)
        d->core->log_line(SSQ_LOG_INFO, "vulkan",
                          "%u kernels are compiled, in %.1f s so far", compiled,
                          (double)all / 1e9);
}

/* Compile a kernel in a variant, if there is memory that a driver's compiler
 * may need: some end the process where there is none. */
static ssq_status kernel_make_pipeline(struct backend_device *d,
                                       const struct kernel_map_entry *e,
                                       VkPipeline *pipeline)
{
    char name[96];
    VkShaderModule shader;
    struct why why;
    kernel_map_name(e->kernel, e->key, name, sizeof(name));
    if (!room_for_bytes(ROOM_TO_COMPILE, "vkCreateComputePipelines", &why))
        return d->core->error_set(SSQ_ERR_NOMEM, "vulkan: kernel %s: %s", name,
                                  why.text);
    ssq_status st = make_shader(d, e, name, &shader);
    if (st != SSQ_OK)
        return st;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = d->layout,
        .basePipelineIndex = -1};
    uint64_t begin = kernel_clock();
    VkResult r =
        VK(CreateComputePipelines)(d->vk, d->cache, 1, &info, NULL, pipeline);
    kernel_count(d, name, kernel_clock() - begin);
    VK(DestroyShaderModule)(d->vk, shader, NULL);
    return r == VK_SUCCESS
               ? SSQ_OK
               : named_error(d->core, name, "vkCreateComputePipelines", r);
}

ssq_status vulkan_kernel_get(struct backend_device *d,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code)
{
    bool mine;
    struct backend_kernel *k = (struct backend_kernel *)kernel_map_get(
        &d->kernels, kernel, key, sizeof(*k), &mine);
    if (k == NULL)
        return vulkan_no_memory(d->core, sizeof(*k));
    /* a thread that is not first has waited in kernel_map_get() until it was
     * made */
    ssq_status st =
        mine ? kernel_make_pipeline(d, &k->entry, &k->pipeline) : SSQ_OK;
    if (mine)
        kernel_map_built(&d->kernels, &k->entry, st == SSQ_OK);
    if (st != SSQ_OK)
        d->core->mem_free(k);
    else
        *code = k;
    return st;
}

/* Which file a pipeline cache is in, and the text of all that it depends on,
 * which is kept in the file to be compared. */
struct kernel_identity {
    char name[64];
    char key[1024];
};

/* The words that tell a driver's compiled code and arithmetic from another's,
 * float controls and small integers included: a device of the caller may have
 * been made without them. Returns their length. */
static int kernel_driver_words(const struct vulkan_caps *caps, char *text,
                               size_t bytes)
{
    char uuid[2 * VK_UUID_SIZE + 1];
    for (size_t i = 0; i < VK_UUID_SIZE; i++)
        snprintf(uuid + 2 * i, 3, "%02x", caps->cache_uuid[i]);
    return snprintf(text, bytes,
                    "sesqui vulkan %d\n%s\n%s\n%08x %08x %s\n%d%d%d%d%d%d%d\n",
                    SSQ_BACKEND_ABI, caps->name, caps->driver,
                    (unsigned)caps->vendor, (unsigned)caps->id, uuid,
                    caps->denorm_preserve, caps->nan_preserve, caps->round_even,
                    caps->int16, caps->int8, caps->storage16, caps->storage8);
}

void vulkan_identify(const struct backend_device *d, char *text, size_t bytes)
{
    (void)kernel_driver_words(&d->caps, text, bytes);
}

/* The file's name depends on the driver only: kernels that another version of
 * the library compiled are overwritten. */
static void kernel_identify(const struct vulkan_caps *caps,
                            struct kernel_identity *id)
{
    int n = kernel_driver_words(caps, id->key, sizeof(id->key));
    snprintf(id->name, sizeof(id->name), "vulkan-%016llx",
             (unsigned long long)disk_cache_hash(DISK_CACHE_HASH, id->key,
                                                 (size_t)n));
    snprintf(id->key + n, sizeof(id->key) - (size_t)n, "%s\n",
             vulkan_modules_sum);
}

/* Does data begin with the header of this device's caches? A driver has to look
 * itself, but not all did so with care. */
static bool is_ours(const struct vulkan_caps *caps, const unsigned char *data,
                    size_t bytes)
{
    VkPipelineCacheHeaderVersionOne h;
    if (bytes < sizeof(h))
        return false;
    memcpy(&h, data, sizeof(h));
    return h.headerSize >= sizeof(h) && h.headerSize <= bytes &&
           h.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           h.vendorID == caps->vendor && h.deviceID == caps->id &&
           memcmp(h.pipelineCacheUUID, caps->cache_uuid, VK_UUID_SIZE) == 0;
}

/* A cache with the contents of the disk, else an empty one; *found: bytes that
 * the disk had. If the driver refuses the contents, the cache is empty. */
static VkResult kernel_load(struct backend_device *d, VkPipelineCache *cache,
                            size_t *found)
{
    struct kernel_identity id;
    size_t bytes = 0;
    kernel_identify(&d->caps, &id);
    unsigned char *data = NULL;
    if (disk_cache_programs(d->core))
        data = disk_cache_load(d->core, id.name, id.key, &bytes);
    if (data != NULL && !is_ours(&d->caps, data, bytes))
        bytes = 0;
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = bytes,
        .pInitialData = bytes > 0 ? data : NULL};
    VkResult r = VK(CreatePipelineCache)(d->vk, &info, NULL, cache);
    if (r != VK_SUCCESS && bytes > 0) {
        bytes = info.initialDataSize = 0;
        info.pInitialData = NULL;
        r = VK(CreatePipelineCache)(d->vk, &info, NULL, cache);
    }
    d->core->mem_free(data);
    *found = bytes;
    return r;
}

/* Bytes of the cache's data; 0 where the driver does not tell. */
static size_t kernel_size_of(struct backend_device *d)
{
    size_t bytes = 0;
    return VK(GetPipelineCacheData)(d->vk, d->cache, &bytes, NULL) == VK_SUCCESS
               ? bytes
               : 0;
}

ssq_status vulkan_kernels_open(struct backend_device *d)
{
    size_t found;
    if (kernel_map_open(&d->kernels, d->core) != SSQ_OK)
        return vulkan_no_memory(d->core, sizeof(d->kernels));
    VkResult r = kernel_load(d, &d->cache, &found);
    if (r != VK_SUCCESS) {
        kernel_map_close(&d->kernels);
        return vulkan_error(d->core, "vkCreatePipelineCache", r);
    }
    d->cache_bytes = kernel_size_of(d);
    d->core->log_line(SSQ_LOG_DEBUG, "vulkan",
                      "pipeline cache: %zu bytes from the disk", found);
    return SSQ_OK;
}

/* Take up what another process has written to the file since it was read, or
 * its pipelines would be lost with ours. */
static void kernel_merge(struct backend_device *d)
{
    VkPipelineCache theirs;
    size_t found;
    if (kernel_load(d, &theirs, &found) != VK_SUCCESS)
        return;
    if (found > 0) /* data that cannot be merged is overwritten */
        (void)VK(MergePipelineCaches)(d->vk, d->cache, 1, &theirs);
    VK(DestroyPipelineCache)(d->vk, theirs, NULL);
}

/* Write the cache to the disk. Any failure only means that it is compiled
 * again. */
static void kernel_store(struct backend_device *d)
{
    struct kernel_identity id;
    kernel_merge(d);
    size_t bytes = kernel_size_of(d);
    unsigned char *data = bytes > 0 ? d->core->mem_alloc(bytes) : NULL;
    if (data == NULL)
        return;
    kernel_identify(&d->caps, &id);
    if (VK(GetPipelineCacheData)(d->vk, d->cache, &bytes, data) == VK_SUCCESS)
        disk_cache_store(d->core, id.name, id.key, data, bytes);
    d->core->mem_free(data);
}

void vulkan_kernels_close(struct backend_device *d)
{
    struct backend_kernel *k;
    while ((k = (struct backend_kernel *)kernel_map_take(&d->kernels)) !=
           NULL) {
        VK(DestroyPipeline)(d->vk, k->pipeline, NULL);
        d->core->mem_free(k);
    }
    kernel_map_close(&d->kernels);
    if (disk_cache_programs(d->core) && kernel_size_of(d) > d->cache_bytes)
        kernel_store(d);
    VK(DestroyPipelineCache)(d->vk, d->cache, NULL);
    d->cache = VK_NULL_HANDLE;
}
