/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory: a VkBuffer each, on its own memory.
 *
 * A kind of memory is a list of wishes, the best first: where a device has no
 * type for a wish, or no room left, the next wish is tried. */
#include "backends/vulkan/vulkan.h"

#define OWN VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define HOST                                                                   \
    (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define CACHED VK_MEMORY_PROPERTY_HOST_CACHED_BIT

/** Properties of types that nothing of ours is to be on: they cannot be mapped
 * or read, are slow, or (AMD's) need a feature that is not switched on. */
#define STRANGE                                                                \
    (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |                                 \
     VK_MEMORY_PROPERTY_PROTECTED_BIT |                                        \
     VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |                              \
     VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD)

/** Wishes of a list; a shorter one ends with 0. */
#define WISHES 4
static const VkMemoryPropertyFlags own_wishes[WISHES] = {OWN};
static const VkMemoryPropertyFlags unified_wishes[WISHES] = {
    OWN | HOST | CACHED, OWN | HOST, HOST, OWN};
static const VkMemoryPropertyFlags to_host_wishes[WISHES] = {HOST | CACHED,
                                                             HOST};
static const VkMemoryPropertyFlags from_host_wishes[WISHES] = {HOST};

static const VkMemoryPropertyFlags *wishes(const struct vulkan_caps *c,
                                           enum vulkan_memory_kind kind)
{
    return kind == VULKAN_TO_HOST     ? to_host_wishes
           : kind == VULKAN_FROM_HOST ? from_host_wishes
           : c->unified               ? unified_wishes
                                      : own_wishes;
}

/* The error of a heap that is full, with its size. */
static ssq_status no_room(const struct backend_device *d, uint32_t type,
                          uint64_t bytes, VkResult e)
{
    const VkPhysicalDeviceMemoryProperties *m = &d->caps.memory;
    return d->core->error_set(
        SSQ_ERR_NOMEM,
        "vulkan: vkAllocateMemory: %s (%d): %llu bytes asked of a heap of %llu",
        vulkan_result_name(e), (int)e, (unsigned long long)bytes,
        (unsigned long long)m->memoryHeaps[m->memoryTypes[type].heapIndex]
            .size);
}

/* Memory that another device shares: see vulkan_mem_shared(). */
struct sharing {
    int *fd;
    uint64_t size;
};

/* vkAllocateMemory, for one buffer alone if the memory is shared. */
static VkResult call_allocate(struct backend_device *d, struct vulkan_mem *m,
                              VkMemoryAllocateInfo info,
                              const struct sharing *sharing)
{
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .buffer = m->buffer};
    const VkExportMemoryAllocateInfo to = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &dedicated,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImportMemoryFdInfoKHR from = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .pNext = &dedicated,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = sharing == NULL ? -1 : *sharing->fd};
    if (sharing == NULL)
        return VK(AllocateMemory)(d->vk, &info, NULL, &m->memory);
    bool import = *sharing->fd >= 0;
    info.pNext = import ? (const void *)&from : &to;
    if (import)
        info.allocationSize = sharing->size;
    VkResult e = VK(AllocateMemory)(d->vk, &info, NULL, &m->memory);
    if (e == VK_SUCCESS && import)
        *sharing->fd = -1;
    return e;
}

/* Allocate memory of one type for m->buffer, bind it and map it. *next: there
 * was no room, and another type may have some; other failures end the search.
 * Everything created so far is destroyed with m. */
static ssq_status vulkan_memory_allocate(struct backend_device *d,
                                         struct vulkan_mem *m, uint64_t bytes,
                                         uint32_t type,
                                         const struct sharing *sharing,
                                         bool map, bool *next)
{
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = bytes,
        .memoryTypeIndex = type};
    m->allocated = bytes;
    VkResult e = call_allocate(d, m, info, sharing);
    *next = e == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (e != VK_SUCCESS) {
        m->memory = VK_NULL_HANDLE;
        if (sharing != NULL && *sharing->fd >= 0 && !*next)
            return d->core->error_set(
                SSQ_ERR_INVALID,
                "vulkan: vkAllocateMemory of the file: %s (%d)",
                vulkan_result_name(e), (int)e);
        return *next || e == VK_ERROR_TOO_MANY_OBJECTS
                   ? no_room(d, type, bytes, e)
                   : vulkan_error(d->core, "vkAllocateMemory", e);
    }
    e = VK(BindBufferMemory)(d->vk, m->buffer, m->memory, 0);
    if (e != VK_SUCCESS)
        return vulkan_error(d->core, "vkBindBufferMemory", e);
    if (!map)
        return SSQ_OK;
    e = VK(MapMemory)(d->vk, m->memory, 0, VK_WHOLE_SIZE, 0, &m->map);
    return e == VK_SUCCESS ? SSQ_OK : vulkan_error(d->core, "vkMapMemory", e);
}

/* Find memory for m->buffer by the kind's wishes. Each type is tried once, at
 * the first wish that it grants. */
static ssq_status find_memory(struct backend_device *d, struct vulkan_mem *m,
                              enum vulkan_memory_kind kind,
                              const struct sharing *sharing)
{
    const VkPhysicalDeviceMemoryProperties *p = &d->caps.memory;
    const VkMemoryPropertyFlags *wish = wishes(&d->caps, kind);
    bool mapped = kind != VULKAN_DEVICE || d->caps.unified;
    uint32_t tried = 0;
    VkMemoryRequirements need;
    ssq_status st = SSQ_ERR_NOMEM;
    VK(GetBufferMemoryRequirements)(d->vk, m->buffer, &need);
    for (int w = 0; w < WISHES && wish[w] != 0; w++)
        for (uint32_t t = 0; t < p->memoryTypeCount; t++) {
            VkMemoryPropertyFlags has = p->memoryTypes[t].propertyFlags;
            bool next;
            if (((need.memoryTypeBits & ~tried) >> t & 1u) == 0 ||
                (has & wish[w]) != wish[w] || (has & STRANGE) != 0)
                continue;
            tried |= 1u << t;
            m->cached = (has & CACHED) != 0;
            st = vulkan_memory_allocate(d, m, need.size, t, sharing,
                                        mapped && (has & HOST) == HOST, &next);
            if (st == SSQ_OK || !next)
                return st;
        }
    return tried != 0 ? st
                      : d->core->error_set(
                            SSQ_ERR_DEVICE,
                            "vulkan: %s has no type of memory for a buffer",
                            d->caps.name);
}

static ssq_status vulkan_memory_create(struct backend_device *d, uint64_t bytes,
                                       enum vulkan_memory_kind kind,
                                       const struct sharing *sharing,
                                       struct vulkan_mem **mem)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = sharing == NULL ? NULL : &external,
        .size = (bytes + 3u) & ~UINT64_C(3), /* whole words */
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    struct vulkan_mem *m = d->core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return vulkan_no_memory(d->core, sizeof(*m));
    m->mem.bytes = info.size;
    VkResult e = VK(CreateBuffer)(d->vk, &info, NULL, &m->buffer);
    if (e != VK_SUCCESS) {
        d->core->mem_free(m);
        return vulkan_error(d->core, "vkCreateBuffer", e);
    }
    ssq_status st = find_memory(d, m, kind, sharing);
    if (st == SSQ_OK)
        *mem = m;
    else
        vulkan_mem_destroy(d, m);
    return st;
}

ssq_status vulkan_mem_create(struct backend_device *d, uint64_t bytes,
                             enum vulkan_memory_kind kind,
                             struct vulkan_mem **mem)
{
    return vulkan_memory_create(d, bytes, kind, NULL, mem);
}

void vulkan_mem_destroy(struct backend_device *d, struct vulkan_mem *m)
{
    /* a borrowed one has no memory of ours either */
    if (!m->borrowed)
        VK(DestroyBuffer)(d->vk, m->buffer, NULL);
    if (m->memory != VK_NULL_HANDLE)
        VK(FreeMemory)(d->vk, m->memory, NULL);
    d->core->mem_free(m);
}

static ssq_status vulkan_memory_check_bytes(const struct backend_device *d,
                                            uint64_t bytes)
{
    return bytes <= d->caps.most_bytes
               ? SSQ_OK
               : d->core->error_set(
                     SSQ_ERR_NOMEM,
                     "vulkan: %llu bytes are more than the %llu that one "
                     "buffer of this device may have",
                     (unsigned long long)bytes,
                     (unsigned long long)d->caps.most_bytes);
}

ssq_status vulkan_mem_shared(struct backend_device *d, uint64_t bytes, int *fd,
                             uint64_t size, struct vulkan_mem **mem)
{
    const struct sharing sharing = {fd, size};
    ssq_status st = vulkan_memory_check_bytes(d, bytes);
    return st == SSQ_OK
               ? vulkan_memory_create(d, bytes, VULKAN_DEVICE, &sharing, mem)
               : st;
}

ssq_status vulkan_alloc(struct backend_device *d, uint64_t bytes,
                        struct backend_mem **mem)
{
    struct vulkan_mem *m = NULL;
    ssq_status st = vulkan_device_check(d);
    if (st == SSQ_OK)
        st = vulkan_memory_check_bytes(d, bytes);
    if (st == SSQ_OK)
        st = vulkan_mem_create(d, bytes, VULKAN_DEVICE, &m);
    if (st == SSQ_OK)
        *mem = &m->mem;
    return st;
}

void vulkan_free(struct backend_device *d, struct backend_mem *mem)
{
    vulkan_mem_destroy(d, (struct vulkan_mem *)mem);
}
