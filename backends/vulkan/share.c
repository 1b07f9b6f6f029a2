/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - memory and timeline semaphores as files: VK_KHR_external_memory_fd
 * and VK_KHR_external_semaphore_fd. memory.c allocates the memory. */
#include "backends/vulkan/queue.h"

#include <string.h>
#include <unistd.h>

struct backend_semaphore {
    VkSemaphore semaphore;
    uint64_t signalled; /* the last value of a signal; 0: none */
};

void vulkan_share_find(struct backend_device *d)
{
    struct vulkan_share_calls *c = &d->share;
    if (d->caps.memory_fd)
        c->memory_fd = (PFN_vkGetMemoryFdKHR)VK(GetDeviceProcAddr)(
            d->vk, "vkGetMemoryFdKHR");
    if (!d->caps.semaphore_fd || !d->caps.timeline)
        return;
    c->semaphore_fd = (PFN_vkGetSemaphoreFdKHR)VK(GetDeviceProcAddr)(
        d->vk, "vkGetSemaphoreFdKHR");
    c->import_semaphore = (PFN_vkImportSemaphoreFdKHR)VK(GetDeviceProcAddr)(
        d->vk, "vkImportSemaphoreFdKHR");
}

static ssq_status lacks(const struct backend_device *d, const char *extension)
{
    return d->core->error_set(SSQ_ERR_UNSUPPORTED,
                              "vulkan: %s has no %s, or was made without it",
                              d->caps.name, extension);
}

/* llvmpipe reports success without a file, if the process has too many open. */
#define NO_FILE VK_ERROR_OUT_OF_HOST_MEMORY

ssq_status vulkan_mem_export(struct backend_device *d, uint64_t bytes,
                             struct backend_mem **mem, int *fd, uint64_t *size)
{
    struct vulkan_mem *m = NULL;
    int none = -1;
    ssq_status st = vulkan_device_check(d);
    if (st == SSQ_OK && d->share.memory_fd == NULL)
        st = lacks(d, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    if (st == SSQ_OK)
        st = vulkan_mem_shared(d, bytes, &none, 0, &m);
    if (st != SSQ_OK)
        return st;
    const VkMemoryGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
        .memory = m->memory,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkResult e = d->share.memory_fd(d->vk, &info, fd);
    if (e == VK_SUCCESS && *fd < 0)
        e = NO_FILE;
    if (e != VK_SUCCESS) {
        vulkan_mem_destroy(d, m);
        return vulkan_error(d->core, "vkGetMemoryFdKHR", e);
    }
    *size = m->allocated;
    *mem = &m->mem;
    return SSQ_OK;
}

ssq_status vulkan_mem_import(struct backend_device *d, int fd, uint64_t bytes,
                             uint64_t size, struct backend_mem **mem)
{
    struct vulkan_mem *m = NULL;
    ssq_status st = vulkan_device_check(d);
    if (st == SSQ_OK && d->share.memory_fd == NULL)
        st = lacks(d, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    if (st == SSQ_OK)
        st = vulkan_mem_shared(d, bytes, &fd, size, &m);
    if (st == SSQ_OK)
        *mem = &m->mem;
    else if (fd >= 0)
        close(fd);
    return st;
}

/* A timeline semaphore; exported: for vkGetSemaphoreFdKHR. */
static ssq_status share_make(struct backend_device *d, bool exported,
                             struct backend_semaphore **semaphore)
{
    const VkExportSemaphoreCreateInfo to = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .pNext = exported ? &to : NULL,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    if (!d->caps.timeline)
        return d->core->error_set(SSQ_ERR_UNSUPPORTED,
                                  "vulkan: %s has no timeline semaphores",
                                  d->caps.name);
    struct backend_semaphore *s = d->core->mem_alloc(sizeof(*s));
    if (s == NULL)
        return vulkan_no_memory(d->core, sizeof(*s));
    s->signalled = 0;
    VkResult e = VK(CreateSemaphore)(d->vk, &info, NULL, &s->semaphore);
    if (e != VK_SUCCESS) {
        d->core->mem_free(s);
        return vulkan_error(d->core, "vkCreateSemaphore", e);
    }
    *semaphore = s;
    return SSQ_OK;
}

ssq_status vulkan_shared_open(struct backend_device *d, int *fd,
                              struct backend_semaphore **semaphore)
{
    struct backend_semaphore *s = NULL;
    ssq_status st = vulkan_device_check(d);
    if (st == SSQ_OK && fd != NULL && d->share.semaphore_fd == NULL)
        st = lacks(d, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    if (st == SSQ_OK)
        st = share_make(d, fd != NULL, &s);
    if (st != SSQ_OK)
        return st;
    if (fd != NULL) {
        const VkSemaphoreGetFdInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
            .semaphore = s->semaphore,
            .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
        VkResult e = d->share.semaphore_fd(d->vk, &info, fd);
        if (e == VK_SUCCESS && *fd < 0)
            e = NO_FILE;
        if (e != VK_SUCCESS) {
            vulkan_shared_close(d, s);
            return vulkan_error(d->core, "vkGetSemaphoreFdKHR", e);
        }
    }
    *semaphore = s;
    return SSQ_OK;
}

ssq_status vulkan_shared_import(struct backend_device *d, int fd,
                                struct backend_semaphore **semaphore)
{
    struct backend_semaphore *s = NULL;
    ssq_status st = vulkan_device_check(d);
    if (st == SSQ_OK && d->share.import_semaphore == NULL)
        st = lacks(d, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    if (st == SSQ_OK)
        st = share_make(d, false, &s);
    if (st != SSQ_OK) {
        close(fd);
        return st;
    }
    const VkImportSemaphoreFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
        .semaphore = s->semaphore,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = fd};
    VkResult e = d->share.import_semaphore(d->vk, &info);
    if (e != VK_SUCCESS) {
        close(fd);
        vulkan_shared_close(d, s);
        return d->core->error_set(SSQ_ERR_INVALID,
                                  "vulkan: vkImportSemaphoreFdKHR: %s (%d)",
                                  vulkan_result_name(e), (int)e);
    }
    *semaphore = s;
    return SSQ_OK;
}

/* The caller has synchronized its queues, but a queue's sync does not wait for
 * a signal. So wait for the last one. A driver without semaphore_fd may emulate
 * timelines, as lavapipe does. Its thread then uses the semaphore shortly after
 * a wait has ended, so the VkQueue must be idle. That wait ends: without
 * semaphore_fd no other device can signal late. */
void vulkan_shared_close(struct backend_device *d, struct backend_semaphore *s)
{
    const VkSemaphoreWaitInfo last = {.sType =
                                          VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &s->semaphore,
                                      .pValues = &s->signalled};
    if (d->share.semaphore_fd == NULL) {
        pthread_mutex_lock(&d->lock);
        vulkan_wait_idle(d);
        pthread_mutex_unlock(&d->lock);
    } else if (s->signalled > 0) {
        (void)d->timeline.wait(d->vk, &last, UINT64_MAX);
    }
    VK(DestroySemaphore)(d->vk, s->semaphore, NULL);
    d->core->mem_free(s);
}

/* Submit the recorded commands first. A signal waits for all earlier
 * submissions to the VkQueue, so that a submission without commands suffices.
 */
ssq_status vulkan_shared_signal(struct backend_queue *q,
                                struct backend_semaphore *s, uint64_t value)
{
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &s->semaphore};
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    if (st == SSQ_OK)
        st = vulkan_submission_send(q);
    if (st == SSQ_OK) {
        pthread_mutex_lock(&q->device->lock);
        VkResult e = vulkan_submit(q->device, &info, VK_NULL_HANDLE);
        pthread_mutex_unlock(&q->device->lock);
        if (e == VK_SUCCESS)
            s->signalled = value;
        else
            st = vulkan_queue_fail(q, "vkQueueSubmit", e);
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

ssq_status vulkan_shared_await(struct backend_queue *q,
                               struct backend_semaphore *s, uint64_t value)
{
    uint64_t handle = 0;
    /* a VkSemaphore is a pointer on some machines and a number on others */
    memcpy(&handle, &s->semaphore, sizeof(s->semaphore));
    return vulkan_semaphore_wait(q, handle, value);
}
