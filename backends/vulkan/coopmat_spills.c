/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat_spills.c - how many registers a driver has spilled in a pipeline, by
 * VK_KHR_pipeline_executable_properties. */
#include "backends/vulkan/coopmat.h"

#include <string.h>

/** Statistics that are looked at. */
#define MOST_STATISTICS 64u

/* The names that drivers of Mesa have for it: Intel's, AMD's and NVIDIA's. */
static const char *const names[] = {"Spill count", "Spill Count",
                                    "Spilled VGPRs", "Spills to memory"};

static bool spills_named(const char *name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

uint64_t coopmat_spills(const struct backend_device *d, VkPipeline pipeline)
{
    VkPipelineExecutableStatisticKHR s[MOST_STATISTICS];
    uint32_t n = MOST_STATISTICS;
    uint64_t spills = 0;
    /* a pipeline for compute has one executable */
    const VkPipelineExecutableInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = pipeline};
    PFN_vkGetPipelineExecutableStatisticsKHR get =
        (PFN_vkGetPipelineExecutableStatisticsKHR)VK(GetDeviceProcAddr)(
            d->vk, "vkGetPipelineExecutableStatisticsKHR");
    if (!d->caps.statistics || get == NULL || pipeline == VK_NULL_HANDLE)
        return 0;
    memset(s, 0, sizeof(s));
    for (uint32_t i = 0; i < n; i++)
        s[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (get(d->vk, &info, &n, s) < 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (s[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR &&
            spills_named(s[i].name))
            spills += s[i].value.u64;
    return spills;
}
