/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - the kernels of a device, which are compiled at their first use
 * (compile.c), and the cache of compiled pipelines on disk. */
#include "backends/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#include "lib/core/module/disk_cache.h"

/* Get the kernel's SPIR-V for this device. */
static ssq_status kernel_words(const struct backend_device *d,
                               struct backend_kernel *k)
{
    char name[96];
    uint32_t *words;
    size_t n;
    kernel_map_name(k->entry.kernel, k->entry.key, name, sizeof(name));
    ssq_status st =
        vulkan_module(d->core, k->entry.kernel, k->entry.key, name, &words, &n);
    if (st != SSQ_OK)
        return st;
    st = vulkan_spirv(d->core, &d->caps, name, words, n, &k->words, &k->bytes);
    d->core->mem_free(words);
    return st;
}

static void kernel_free(const struct backend_device *d,
                        struct backend_kernel *k)
{
    d->core->mem_free(k->words);
    d->core->mem_free(k);
}

/* Make a kernel that is new in the table. A kernel that this device cannot run
 * is refused here. Only the driver's compiler works later, on another thread:
 * vulkan_compile_wait() returns its error. */
static ssq_status kernel_begin(struct backend_device *d,
                               struct backend_kernel *k)
{
    ssq_status st = kernel_words(d, k);
    if (st == SSQ_OK && !vulkan_compile_later(d, k))
        st = vulkan_compile_now(d, k);
    kernel_map_built(&d->kernels, &k->entry, st == SSQ_OK);
    if (st != SSQ_OK)
        kernel_free(d, k);
    return st;
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
    ssq_status st = SSQ_OK;
    if (mine)
        st = kernel_begin(d, k);
    else if (vulkan_compile_failed(k)) /* try again */
        st = vulkan_compile_wait(d, k);
    if (st == SSQ_OK)
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
    ssq_status st = vulkan_compile_open(d);
    if (st != SSQ_OK) {
        VK(DestroyPipelineCache)(d->vk, d->cache, NULL);
        kernel_map_close(&d->kernels);
        return st;
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
    vulkan_compile_close(d);
    while ((k = (struct backend_kernel *)kernel_map_take(&d->kernels)) !=
           NULL) {
        VK(DestroyPipeline)(d->vk, k->pipeline, NULL);
        kernel_free(d, k);
    }
    kernel_map_close(&d->kernels);
    if (disk_cache_programs(d->core) && kernel_size_of(d) > d->cache_bytes)
        kernel_store(d);
    VK(DestroyPipelineCache)(d->vk, d->cache, NULL);
    d->cache = VK_NULL_HANDLE;
}
