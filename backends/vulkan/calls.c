/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the table of Vulkan calls, and the names of their results. */
#include "backends/vulkan/calls.h"

struct vulkan_calls ssq_vulkan_calls = {
#define X(NAME) .NAME = vk##NAME,
    VULKAN_CALLS(X)
#undef X
};

/* clang-format off */
#define VULKAN_RESULTS(X) \
    X(VK_SUCCESS) \
    X(VK_NOT_READY) \
    X(VK_TIMEOUT) \
    X(VK_INCOMPLETE) \
    X(VK_ERROR_OUT_OF_HOST_MEMORY) \
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY) \
    X(VK_ERROR_INITIALIZATION_FAILED) \
    X(VK_ERROR_DEVICE_LOST) \
    X(VK_ERROR_MEMORY_MAP_FAILED) \
    X(VK_ERROR_LAYER_NOT_PRESENT) \
    X(VK_ERROR_EXTENSION_NOT_PRESENT) \
    X(VK_ERROR_FEATURE_NOT_PRESENT) \
    X(VK_ERROR_INCOMPATIBLE_DRIVER) \
    X(VK_ERROR_TOO_MANY_OBJECTS) \
    X(VK_ERROR_FRAGMENTED_POOL) \
    X(VK_ERROR_UNKNOWN) \
    X(VK_ERROR_OUT_OF_POOL_MEMORY) \
    X(VK_ERROR_FRAGMENTATION) \
    X(VK_ERROR_INVALID_SHADER_NV) \
    /* the end of the list */
/* clang-format on */

const char *vulkan_result_name(VkResult result)
{
    switch ((int)result) {
#define X(NAME)                                                                \
    case NAME:                                                                 \
        return #NAME;
        VULKAN_RESULTS(X)
#undef X
    default:
        return "a result of the driver's own";
    }
}
