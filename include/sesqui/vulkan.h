/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - interop with Vulkan: a device and buffers of the caller's.
 *
 * Not part of sesqui.h, and without Vulkan's own headers: a VkBuffer is passed
 * as the 64 bits that it is everywhere, (uint64_t)buffer. Nothing of the
 * caller's is destroyed here; all of it has to stay as long as what was made
 * over it. */
#ifndef SESQUI_VULKAN_H
#define SESQUI_VULKAN_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;

/** What a caller's VkDevice was made with. storageBuffer16BitAccess and
 *  uniformBufferStandardLayout must have been enabled; each of these is used if
 *  it is said to be, and is worth it if the device has it. */
typedef enum ssq_vulkan_feature {
    SSQ_VULKAN_INT16 = 1,    /**< shaderInt16; without it most kernels fail */
    SSQ_VULKAN_STORAGE8 = 2, /**< storageBuffer8BitAccess; as important */
    SSQ_VULKAN_INT8 = 4,     /**< shaderInt8; as important */
    SSQ_VULKAN_TIMELINE = 8, /**< timelineSemaphore */
    /** The extension VK_KHR_shader_float_controls, or Vulkan 1.2: it keeps
     *  float32 subnormals and NaNs as they are. */
    SSQ_VULKAN_FLOAT_CONTROLS = 16,
    /** subgroupSizeControl and computeFullSubgroups */
    SSQ_VULKAN_SUBGROUP_CONTROL = 32,
    /** cooperativeMatrix of VK_KHR_cooperative_matrix, shaderFloat16 and
     *  vulkanMemoryModel */
    SSQ_VULKAN_COOPMAT = 64,
    /** shaderBFloat16Type and shaderBFloat16CooperativeMatrix of
     *  VK_KHR_shader_bfloat16, with SSQ_VULKAN_COOPMAT */
    SSQ_VULKAN_BFLOAT16 = 128
} ssq_vulkan_feature;

/** A caller's device, and one queue of it that computes. */
typedef struct ssq_vulkan_native {
    size_t struct_size;
    struct VkInstance_T *instance;
    uint32_t api_version; /**< VkApplicationInfo::apiVersion, 1.1 or later */
    uint32_t features;    /**< SSQ_VULKAN_* bits */
    struct VkPhysicalDevice_T *physical;
    struct VkDevice_T *device;
    struct VkQueue_T *queue;
    uint32_t family; /**< of queue; it has VK_QUEUE_COMPUTE_BIT */
    /** Called around each vkQueueSubmit on queue, from any thread that uses
     *  the device here, for a caller who submits to queue from other threads
     *  at the same time. NULL both: the caller does not. Neither may call
     *  anything of this library. */
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user; /**< for lock and unlock */
} ssq_vulkan_native;
#define SSQ_VULKAN_NATIVE_INIT                                                 \
    {                                                                          \
        sizeof(ssq_vulkan_native), NULL, 0, 0, NULL, NULL, NULL, 0, NULL,      \
            NULL, NULL                                                         \
    }

/** Open a device over the caller's. What its queues (ssq_queue_create) run is
 *  submitted to native->queue, in order with what the caller submits there.
 *  @param native   what it is; copied
 *  @param options  may be NULL
 *  @return SSQ_ERR_INVALID a NULL, struct_size, lock without unlock, a family
 *          without compute; SSQ_ERR_NOT_FOUND no vulkan backend, or a device
 *          that it cannot use; SSQ_ERR_DEVICE, SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_vulkan_device_open(const ssq_vulkan_native *native,
                       const ssq_device_options *options, ssq_device **device);

/** A buffer over the caller's VkBuffer: tensors on it (ssq_tensor_from_buffer)
 *  see what the caller wrote, and he what they hold. No copy.
 *  @param device  of vulkan, over the VkDevice that native is of
 *  @param native  a VkBuffer with memory bound to it, and with the usages
 *                 STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST
 *  @param bytes   of it, as it was made
 *  @return SSQ_ERR_INVALID a NULL or 0, another backend's device;
 *          SSQ_ERR_UNSUPPORTED more bytes than a buffer of the device may
 *          have. Since 0.1.
 *  @note What the caller writes before, by a submission to the queue of
 *        ssq_vulkan_device_open, needs a barrier of his to reads and writes
 *        of compute shaders and transfers; what he reads afterwards needs
 *        ssq_queue_sync, and so does destroying native. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_vulkan_buffer_import(ssq_device *device,
                                                           uint64_t native,
                                                           uint64_t bytes,
                                                           ssq_buffer **buffer);

/** The VkBuffer that a buffer is a part of, and where it begins, in bytes.
 *  Valid as long as the buffer.
 *  @return SSQ_ERR_INVALID a NULL, a buffer of another backend or of 0 bytes.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_vulkan_buffer_mem(
    const ssq_buffer *buffer, uint64_t *native, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
