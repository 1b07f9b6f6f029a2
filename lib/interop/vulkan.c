/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.c - <sesqui/vulkan.h>: the functions with Vulkan's handles. A queue
 * cannot be created over a native one. Instead the caller lends a VkQueue, with
 * its lock, when it opens the device. */
#include <sesqui/vulkan.h>

#include "lib/core/device/native.h"

#include <string.h>

/* Return the name of the first member of n that is NULL. NULL: all are set. */
static const char *vulkan_missing(const ssq_vulkan_native *n)
{
    return n->instance == NULL   ? "instance"
           : n->physical == NULL ? "physical"
           : n->device == NULL   ? "device"
           : n->queue == NULL    ? "queue"
                                 : NULL;
}

/* Open a device. struct_size is checked here, not in the backend, because a
 * struct of another size must not be read. The backend gets one pointer,
 * native. */
ssq_status ssq_vulkan_device_open(const ssq_vulkan_native *native,
                                  const ssq_device_options *options,
                                  ssq_device **device)
{
    const void *const handles[] = {native};
    if (native == NULL || device == NULL)
        return error_set(SSQ_ERR_INVALID, "vulkan_device_open: %s is NULL",
                         native == NULL ? "native" : "device");
    if (native->struct_size != sizeof(*native))
        return error_set(SSQ_ERR_INVALID,
                         "vulkan_device_open: struct_size is %zu, expected %zu",
                         native->struct_size, sizeof(*native));
    const char *what = vulkan_missing(native);
    if (what != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "vulkan_device_open: native->%s is NULL", what);
    if ((native->lock == NULL) != (native->unlock == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "vulkan_device_open: lock and unlock, or neither");
    return native_device_open("vulkan", handles, options, "vulkan_device_open",
                              device);
}

ssq_status ssq_vulkan_info_get(const ssq_device *device, ssq_vulkan_info *info)
{
    if (info == NULL || info->struct_size != sizeof(*info))
        return error_set(SSQ_ERR_INVALID,
                         "vulkan_info_get: info is NULL or has a wrong "
                         "struct_size");
    return native_device_info("vulkan", device, info, "vulkan_info_get");
}

/* The size of a VkBuffer cannot be queried, so the caller gives it. Both words
 * are only read during the call. */
ssq_status ssq_vulkan_buffer_import(ssq_device *device, uint64_t native,
                                    uint64_t bytes, ssq_buffer **buffer)
{
    const uint64_t words[] = {native, bytes};
    if (native == 0 || bytes == 0)
        return error_set(SSQ_ERR_INVALID, "vulkan_buffer_import: %s is 0",
                         native == 0 ? "native" : "bytes");
    return native_buffer_import("vulkan", device, words, "vulkan_buffer_import",
                                buffer);
}

ssq_status ssq_vulkan_buffer_mem(const ssq_buffer *buffer, uint64_t *native,
                                 uint64_t *offset)
{
    /* The backend returns the address of the VkBuffer, not the handle. A
     * VkBuffer has 64 bits even if pointers have 32. */
    void *handle = NULL;
    ssq_status st =
        native_buffer_handle("vulkan", buffer, "vulkan_buffer_mem",
                             native == NULL ? NULL : &handle, offset);
    if (st == SSQ_OK)
        memcpy(native, handle, sizeof(*native));
    return st;
}
