/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c - asks a driver about a pipeline, and prints the answers. */
#include "tests/vendors/statistics.h"

#include <stdio.h>
#include <string.h>

/* More are not looked at. */
#define MOST_EXECUTABLES 8u
#define MOST_STATISTICS  64u

/* Vulkan's names for these are longer than a line. */
typedef VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature;
typedef PFN_vkGetPipelineExecutablePropertiesKHR properties_call;
typedef PFN_vkGetPipelineExecutableStatisticsKHR statistics_call;
#define TYPE(NAME)      VK_STRUCTURE_TYPE_##NAME##_KHR
#define FORMAT(NAME)    VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_##NAME##_KHR
#define DEVICE_FEATURES PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES
#define TYPE_OF(NAME)   TYPE(NAME)

feature statistics_feature(const void *next)
{
    union {
        const void *in;
        void *out; /* Vulkan's chains are not const */
    } chain = {next};
    return (feature){.sType = TYPE_OF(DEVICE_FEATURES),
                     .pNext = chain.out,
                     .pipelineExecutableInfo = VK_TRUE};
}

static void statistic_print(const VkPipelineExecutableStatisticKHR *s)
{
    printf("\t%s=", s->name);
    switch (s->format) {
    case FORMAT(UINT64):
        printf("%llu", (unsigned long long)s->value.u64);
        break;
    case FORMAT(INT64):
        printf("%lld", (long long)s->value.i64);
        break;
    case FORMAT(FLOAT64):
        printf("%g", s->value.f64);
        break;
    default:
        printf("%u", (unsigned)s->value.b32);
    }
}

/* Executable i of a pipeline. */
static void executable_print(VkDevice device, VkPipeline pipeline, uint32_t i,
                             statistics_call get)
{
    VkPipelineExecutableStatisticKHR s[MOST_STATISTICS];
    uint32_t n = MOST_STATISTICS;
    const VkPipelineExecutableInfoKHR info = {
        .sType = TYPE(PIPELINE_EXECUTABLE_INFO),
        .pipeline = pipeline,
        .executableIndex = i};
    memset(s, 0, sizeof(s));
    for (uint32_t k = 0; k < n; k++)
        s[k].sType = TYPE(PIPELINE_EXECUTABLE_STATISTIC);
    if (get(device, &info, &n, s) < 0)
        return;
    for (uint32_t k = 0; k < n; k++)
        statistic_print(&s[k]);
}

void statistics_print(VkDevice device, VkPipeline pipeline)
{
    properties_call properties = (properties_call)vkGetDeviceProcAddr(
        device, "vkGetPipelineExecutablePropertiesKHR");
    statistics_call statistics = (statistics_call)vkGetDeviceProcAddr(
        device, "vkGetPipelineExecutableStatisticsKHR");
    VkPipelineExecutablePropertiesKHR executable[MOST_EXECUTABLES];
    uint32_t n = MOST_EXECUTABLES;
    const VkPipelineInfoKHR info = {.sType = TYPE(PIPELINE_INFO),
                                    .pipeline = pipeline};
    memset(executable, 0, sizeof(executable));
    for (uint32_t i = 0; i < n; i++)
        executable[i].sType = TYPE(PIPELINE_EXECUTABLE_PROPERTIES);
    if (properties == NULL || statistics == NULL ||
        properties(device, &info, &n, executable) < 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        printf("\tSubgroup=%u", executable[i].subgroupSize);
        executable_print(device, pipeline, i, statistics);
    }
}
