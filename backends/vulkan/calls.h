/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - every Vulkan call of the backend, through one table.
 *
 * VK(QueueSubmit)(..) is vkQueueSubmit(..). The table is exported, so that a
 * test can put itself between: make the Nth call fail, lend allocation
 * callbacks, or count destroyed objects. All are of Vulkan 1.1; newer functions
 * come from GetDeviceProcAddr. */
#ifndef BACKENDS_VULKAN_CALLS_H
#define BACKENDS_VULKAN_CALLS_H

#include <vulkan/vulkan.h>

#include <sesqui/status.h>

/* clang-format off */
#define VULKAN_CALLS(X) \
    /* the loader and its devices */ \
    X(EnumerateInstanceVersion) \
    X(CreateInstance) \
    X(DestroyInstance) \
    X(GetInstanceProcAddr) \
    X(EnumeratePhysicalDevices) \
    X(EnumerateDeviceExtensionProperties) \
    X(GetPhysicalDeviceFeatures2) \
    X(GetPhysicalDeviceProperties2) \
    X(GetPhysicalDeviceMemoryProperties2) \
    X(GetPhysicalDeviceQueueFamilyProperties2) \
    X(CreateDevice) \
    X(DestroyDevice) \
    X(GetDeviceProcAddr) \
    X(GetDeviceQueue) \
    X(DeviceWaitIdle) \
    /* memory */ \
    X(CreateBuffer) \
    X(DestroyBuffer) \
    X(GetBufferMemoryRequirements) \
    X(AllocateMemory) \
    X(FreeMemory) \
    X(BindBufferMemory) \
    X(MapMemory) \
    /* pipelines */ \
    X(CreateDescriptorSetLayout) \
    X(DestroyDescriptorSetLayout) \
    X(CreatePipelineLayout) \
    X(DestroyPipelineLayout) \
    X(CreateShaderModule) \
    X(DestroyShaderModule) \
    X(CreatePipelineCache) \
    X(DestroyPipelineCache) \
    X(GetPipelineCacheData) \
    X(MergePipelineCaches) \
    X(CreateComputePipelines) \
    X(DestroyPipeline) \
    /* descriptors */ \
    X(CreateDescriptorPool) \
    X(DestroyDescriptorPool) \
    X(AllocateDescriptorSets) \
    X(UpdateDescriptorSets) \
    /* commands */ \
    X(CreateCommandPool) \
    X(DestroyCommandPool) \
    X(ResetCommandPool) \
    X(AllocateCommandBuffers) \
    X(BeginCommandBuffer) \
    X(EndCommandBuffer) \
    X(CmdBindPipeline) \
    X(CmdBindDescriptorSets) \
    X(CmdDispatch) \
    X(CmdPipelineBarrier) \
    X(CmdCopyBuffer) \
    X(CmdCopyQueryPoolResults) \
    X(CmdFillBuffer) \
    X(CmdExecuteCommands) \
    X(CmdWriteTimestamp) \
    X(CmdResetQueryPool) \
    X(CreateQueryPool) \
    X(DestroyQueryPool) \
    /* queues, and waiting for them */ \
    X(QueueSubmit) \
    X(QueueWaitIdle) \
    X(CreateSemaphore) \
    X(DestroySemaphore) \
    X(CreateFence) \
    X(DestroyFence) \
    X(ResetFences) \
    X(WaitForFences) \
    X(GetFenceStatus) \
    /* the end of the list */
/* clang-format on */

struct vulkan_calls {
#define X(NAME) PFN_vk##NAME NAME;
    VULKAN_CALLS(X)
#undef X
};

/** Filled with the functions that the module is linked with. */
extern SSQ_API struct vulkan_calls ssq_vulkan_calls;

#define VK(NAME) ssq_vulkan_calls.NAME

/** "VK_ERROR_DEVICE_LOST" */
const char *vulkan_result_name(VkResult result);

#endif
