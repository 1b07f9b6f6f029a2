/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h - what a Vulkan driver says of a pipeline that it compiled, by
 * VK_KHR_pipeline_executable_properties. */
#ifndef SSQ_TESTS_VENDORS_STATISTICS_H
#define SSQ_TESTS_VENDORS_STATISTICS_H

#include <vulkan/vulkan.h>

/** Return the feature that a device must be created with, chained to next. */
VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR
statistics_feature(const void *next);

/** Print "\tNAME=VALUE" for each statistic of a pipeline that was created with
 * CAPTURE_STATISTICS. "\tSubgroup=N" precedes the statistics of each
 * executable. */
void statistics_print(VkDevice device, VkPipeline pipeline);

#endif
