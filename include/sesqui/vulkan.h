/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - interop with Vulkan: a device and buffers that the caller made.
 *
 *     ssq_vulkan_native native = SSQ_VULKAN_NATIVE_INIT;
 *     native.instance = ..;                 and all other handles
 *     ssq_vulkan_device_open(&native, NULL, &device);
 *     ssq_queue_create(device, NULL, &queue);
 *     ssq_vulkan_buffer_import(device, (uint64_t)vk_buffer, bytes, &buffer);
 *     ssq_tensor_from_buffer(buffer, SSQ_F32, 1, shape, NULL, 0, &tensor);
 *
 * sesqui.h does not include this header, and this header needs no header of
 * Vulkan. A VkBuffer is passed as 64 bits: (uint64_t)buffer.
 *
 * Kernels: a kernel is compiled at its first use, by threads of the library.
 * There are as many as processors that the process may use, at most 8. A call
 * that needs the kernel returns before it is compiled. Its work and the later
 * work of the queue begin when it is ready. Calls that wait for the queue or
 * record an event wait for the compiler, too; ssq_queue_status does not. If the
 * compiler fails, the queue has failed, with the compiler's error: rule (d) of
 * status.h. With one processor, or with SSQ_VULKAN_THREADS=0 in the
 * environment, the call compiles the kernel itself and returns that error. The
 * threads end in ssq_device_close.
 *
 * Ownership: the caller owns all Vulkan handles, and the library never destroys
 * them. The caller must keep a handle until every object over it is destroyed.
 * For example, destroy tensors, buffers, events, queues and the device before
 * vkDestroyDevice. An imported VkBuffer must also exist until the library's
 * work on it has run (ssq_queue_sync): a graph, or a tape until its pass ends,
 * can still use it.
 *
 * @sync host
 * @threads any */
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

/** Features with which the caller made the VkDevice. The device must have been
 *  made with storageBuffer16BitAccess and uniformBufferStandardLayout. Set the
 *  bit of each other feature that you enabled: the library uses only these.
 *  Enable each feature that the physical device has. */
typedef enum ssq_vulkan_feature {
    SSQ_VULKAN_INT16 = 1,    /**< shaderInt16; without it some kernels, for
                                  example of ssq_gather_rows with f16, are
                                  refused with SSQ_ERR_UNSUPPORTED */
    SSQ_VULKAN_STORAGE8 = 2, /**< storageBuffer8BitAccess; required: without it
                                  the self-test cannot run, and the device does
                                  not open */
    SSQ_VULKAN_INT8 = 4,     /**< shaderInt8; as shaderInt16, with u8 */
    SSQ_VULKAN_TIMELINE = 8, /**< timelineSemaphore; without it
                                  ssq_queue_wait waits on the host */
    /** The extension VK_KHR_shader_float_controls: preserves float32 subnormals
     *  and NaNs. Not needed with Vulkan 1.2 or later. */
    SSQ_VULKAN_FLOAT_CONTROLS = 16,
    /** subgroupSizeControl and computeFullSubgroups */
    SSQ_VULKAN_SUBGROUP_CONTROL = 32,
    /** cooperativeMatrix of VK_KHR_cooperative_matrix, shaderFloat16 and
     *  vulkanMemoryModel */
    SSQ_VULKAN_COOPMAT = 64,
    /** shaderBFloat16Type and shaderBFloat16CooperativeMatrix of
     *  VK_KHR_shader_bfloat16, with SSQ_VULKAN_COOPMAT */
    SSQ_VULKAN_BFLOAT16 = 128,
    SSQ_VULKAN_MEMORY_FD = 256, /**< the extension VK_KHR_external_memory_fd,
                                     for ssq_buffer_export and _import */
    /** The extension VK_KHR_external_semaphore_fd, for ssq_semaphore_create and
     *  _import */
    SSQ_VULKAN_SEMAPHORE_FD = 512
} ssq_vulkan_feature;

/** A VkDevice of the caller, and one of its queues. */
typedef struct ssq_vulkan_native {
    size_t struct_size;
    struct VkInstance_T *instance;
    uint32_t api_version; /**< VkApplicationInfo::apiVersion; 1.1 or later */
    uint32_t features;    /**< SSQ_VULKAN_* bits */
    struct VkPhysicalDevice_T *physical;
    struct VkDevice_T *device;
    struct VkQueue_T *queue;
    uint32_t family; /**< family of queue; must have VK_QUEUE_COMPUTE_BIT */
    /** Called before each vkQueueSubmit and vkQueueWaitIdle of the library on
     *  queue, on any thread that uses the device. Set both functions if other
     *  threads submit to queue at the same time; for example, let them lock and
     *  unlock a mutex of the caller. Otherwise set both to NULL. They must not
     *  call the library. */
    void (*lock)(void *user);
    void (*unlock)(void *user); /**< called after it, on the same thread */
    void *user;                 /**< passed to both */
} ssq_vulkan_native;
#define SSQ_VULKAN_NATIVE_INIT                                                 \
    {                                                                          \
        sizeof(ssq_vulkan_native), NULL, 0, 0, NULL, NULL, NULL, 0, NULL,      \
            NULL, NULL                                                         \
    }

/** Open a device over the caller's VkDevice. The work of its queues
 *  (ssq_queue_create) is submitted to native->queue, after what the caller has
 *  submitted before the call that enqueues it. It may be submitted later than
 *  that call: call ssq_queue_sync before you submit work that must follow it.
 *  @param native   copied
 *  @param options  NULL: the defaults
 *  @param device   out; owned by the caller; release it with
 *                  ssq_device_close()
 *  @return
 *   - SSQ_ERR_INVALID      a handle in native is NULL; api_version is below
 *                          1.1; only one of lock and unlock is set; the family
 *                          does not compute
 *   - SSQ_ERR_NOT_FOUND    no Vulkan backend; the backend does not list a
 *                          device of this name, vendor and driver; the physical
 *                          device lacks something that every kernel needs
 *   - SSQ_ERR_UNSUPPORTED  the device failed its self-test, or cannot run it
 *                          without SSQ_VULKAN_STORAGE8
 *   - SSQ_ERR_INVALID, SSQ_ERR_NOT_FOUND for variables of the environment, as
 *     ssq_device_open
 *  @sync waits for the self-test, if it runs
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_vulkan_device_open(const ssq_vulkan_native *native,
                       const ssq_device_options *options, ssq_device **device);

/** Handles of a device; written by ssq_vulkan_info_get. */
typedef struct ssq_vulkan_info {
    size_t struct_size;
    struct VkInstance_T *instance;
    struct VkPhysicalDevice_T *physical;
    struct VkDevice_T *device;
    struct VkQueue_T *queue; /**< to which the library submits. Do not submit
                                  to it, unless you opened the device with it
                                  (ssq_vulkan_device_open) */
    uint32_t family;         /**< of queue */
    bool timelines;          /**< the library uses timeline semaphores */
} ssq_vulkan_info;
#define SSQ_VULKAN_INFO_INIT                                                   \
    {                                                                          \
        sizeof(ssq_vulkan_info), NULL, NULL, NULL, NULL, 0, false              \
    }

/** Return the handles of a device of the vulkan backend, also of one that was
 *  opened by its name. They are valid until the device is closed and its last
 *  object destroyed.
 *  @param info  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  a device of another backend
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_vulkan_info_get(const ssq_device *device, ssq_vulkan_info *info);

/** Import a VkBuffer of the caller, without a copy. Tensors on the buffer
 *  (ssq_tensor_from_buffer) alias the caller's memory.
 *
 *  The caller's writes before work of the library need a barrier, to reads and
 *  writes of compute shaders and transfers. Submit it to the queue of
 *  ssq_vulkan_device_open. Call ssq_queue_sync before you read the memory or
 *  destroy native.
 *
 *  Ops refuse operands that overlap in one VkBuffer, also if it was imported
 *  twice. Two VkBuffers count as different memory: the caller must not bind
 *  them to memory that overlaps, if the library writes to it.
 *  @param device  of ssq_vulkan_device_open, over the VkDevice that made
 *                 native (not checked)
 *  @param native  a VkBuffer with memory bound to it, with the usages
 *                 STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST (not checked)
 *  @param bytes   the size with which native was made
 *  @param buffer  out; owned by the caller; release it with
 *                 ssq_buffer_destroy(), which does not destroy native
 *  @return
 *   - SSQ_ERR_INVALID      native or bytes is 0; a device of another backend
 *   - SSQ_ERR_UNSUPPORTED  bytes is more than a buffer of the device may have
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_vulkan_buffer_import(ssq_device *device,
                                                           uint64_t native,
                                                           uint64_t bytes,
                                                           ssq_buffer **buffer);

/** Return the VkBuffer that contains a buffer, and the buffer's start in it.
 *  Both are valid as long as the buffer exists. For example, a buffer of
 *  ssq_buffer_create shares its VkBuffer with others. Its usages are storage,
 *  uniform, transfer source and transfer destination; its sharing mode is
 *  exclusive. An imported buffer returns its own VkBuffer and offset 0. Order
 *  your commands and the library's as for ssq_vulkan_buffer_import.
 *
 *  ssq_vulkan_info_get returns the VkDevice.
 *  @param native  out: the VkBuffer; do not destroy it
 *  @param offset  out: bytes
 *  @return SSQ_ERR_INVALID  a buffer of another backend, or of 0 bytes
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_vulkan_buffer_mem(
    const ssq_buffer *buffer, uint64_t *native, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
