/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - the features and properties that we ask a device for, where it
 * knows them: by its version of Vulkan, or by an extension. */
#ifndef BACKENDS_VULKAN_FEATURES_H
#define BACKENDS_VULKAN_FEATURES_H

#include "backends/vulkan/vulkan.h"

/* Headers before 1.3.255 and 1.4.311 lack these. */
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME "VK_KHR_cooperative_matrix"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR      \
    ((VkStructureType)1000506000)
typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix;
    VkBool32 cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
#endif
#ifndef VK_KHR_shader_bfloat16
#define VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME "VK_KHR_shader_bfloat16"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR         \
    ((VkStructureType)1000141000)
typedef struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 shaderBFloat16Type;
    VkBool32 shaderBFloat16DotProduct;
    VkBool32 shaderBFloat16CooperativeMatrix;
} VkPhysicalDeviceShaderBfloat16FeaturesKHR;
#endif

/** Features, base the head of the chain. */
struct vulkan_features {
    VkPhysicalDeviceFeatures2 base;
    VkPhysicalDevice16BitStorageFeatures storage16;
    VkPhysicalDevice8BitStorageFeatures storage8;
    VkPhysicalDeviceUniformBufferStandardLayoutFeatures layout;
    VkPhysicalDeviceShaderFloat16Int8Features arithmetic;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model;
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup;
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR coopmat;
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
};

/** Properties, base the head of the chain. */
struct vulkan_properties {
    VkPhysicalDeviceProperties2 base;
    VkPhysicalDeviceMaintenance3Properties maintenance3;
    VkPhysicalDeviceMaintenance4Properties maintenance4;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_size;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceFloatControlsProperties float_controls;
    VkPhysicalDeviceShaderCorePropertiesAMD amd;
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv;
    VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm;
    bool budget; /* the device has VK_EXT_memory_budget */
    /* VK_KHR_external_memory_fd, VK_KHR_external_semaphore_fd? */
    bool memory_fd, semaphore_fd;
};

/** All of both, as a device of Vulkan api says: a feature that it does not know
 * is zero. */
ssq_status vulkan_features_ask(const struct services *core,
                               VkPhysicalDevice physical, uint32_t api,
                               struct vulkan_features *features,
                               struct vulkan_properties *properties);

/** Most extensions that a device is made with. */
#define VULKAN_EXTENSIONS 16u

/** Arguments to create a device with these caps: a chain of features, and the
 *  extensions that they come from. @return the number of extensions. */
uint32_t vulkan_features_wanted(const struct vulkan_caps *caps,
                                struct vulkan_features *features,
                                const char *extensions[VULKAN_EXTENSIONS]);

#endif
