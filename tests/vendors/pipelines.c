/* SPDX-License-Identifier: Apache-2.0 */
/* pipelines.c - every pipeline that the vulkan module makes, on a device that
 * need not be able to run one.
 *
 * The module's own code opens the first device, reads the shipped modules, adds
 * the float controls and makes the pipelines. Only coopmat_test.c is missing,
 * because it launches kernels. The test that this file has instead always
 * fails, so that the module tries every shape of matrices and every size of
 * subgroup. Two calls of Vulkan are wrapped to request the driver's statistics,
 * and one adds memory that a device without hardware may lack.
 *
 * usage: pipelines [KERNEL...]   the kernels named, for example unary; else all
 *
 * It prints lines of fields, with tabs between them:
 *
 *     device  NAME: DRIVER
 *     made    unary KIND=3 X=1  NAME=VALUE...
 *     error   unary KIND=3 X=1  TEXT
 *     done    PIPELINES FAILURES
 */
#include "backends/vulkan/coopmat.h"
#include "kernel_table.h"
#include "tests/vendors/statistics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the core lends to the module ---- */

static char last_error[1024];
static unsigned coopmat_kinds; /* that the module has finished with */

static ssq_status services_error(ssq_status st, const char *format, ...)
{
    char text[sizeof(last_error)]; /* an argument may be the last text */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(last_error, text, sizeof(text));
    return st;
}

static const char *services_error_text(void)
{
    return last_error;
}

/* The module logs a line that begins with "coopmat:" after each kind. */
static void services_log(ssq_log_level level, const char *topic,
                         const char *format, ...)
{
    (void)level;
    (void)topic;
    coopmat_kinds += strncmp(format, "coopmat:", 8) == 0;
}

static void *services_alloc(size_t bytes)
{
    return calloc(1, bytes == 0 ? 1 : bytes);
}

static void services_free(void *p)
{
    free(p);
}

static const char *services_env_text(const char *name)
{
    (void)name;
    return NULL;
}

static ssq_status services_env_number(const char *name, uint64_t least,
                                      uint64_t most, uint64_t *value)
{
    (void)least;
    (void)most;
    if (strcmp(name, "SSQ_VULKAN_THREADS") == 0)
        *value = 0; /* lines are printed in the order of the pipelines */
    return SSQ_OK;
}

/* No cache: everything must be compiled. */
static ssq_status services_env_flag(const char *name, bool *value)
{
    if (strncmp(name, "SSQ_CACHE", 9) == 0)
        *value = false;
    return SSQ_OK;
}

static bool services_file_safe(const char *path, struct why *why)
{
    (void)path;
    (void)why;
    return true;
}

static const struct services services = {.abi = SSQ_BACKEND_ABI,
                                         .error_set = services_error,
                                         .error_text = services_error_text,
                                         .log_line = services_log,
                                         .mem_alloc = services_alloc,
                                         .mem_free = services_free,
                                         .env_text = services_env_text,
                                         .env_number = services_env_number,
                                         .env_flag = services_env_flag,
                                         .file_safe = services_file_safe};

/* ---- calls of Vulkan that are wrapped ---- */

static char variant[160]; /* that is made now */
static bool have_statistics;

/* True if the module itself asks for statistics, as it does with matrices. */
static bool statistics_asked(const VkDeviceCreateInfo *asked)
{
    for (uint32_t i = 0; i < asked->enabledExtensionCount; i++)
        if (strcmp(asked->ppEnabledExtensionNames[i],
                   VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) == 0)
            return true;
    return false;
}

/* The device with statistics, if its driver has them. */
static VkResult wrapped_create_device(VkPhysicalDevice physical,
                                      const VkDeviceCreateInfo *asked,
                                      const VkAllocationCallbacks *callbacks,
                                      VkDevice *device)
{
    const char *names[64];
    uint32_t n = asked->enabledExtensionCount;
    if (statistics_asked(asked)) {
        have_statistics = true;
        return vkCreateDevice(physical, asked, callbacks, device);
    }
    if (n >= sizeof(names) / sizeof(names[0]))
        return VK_ERROR_INITIALIZATION_FAILED;
    VkDeviceCreateInfo info = *asked;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR features =
        statistics_feature(asked->pNext);
    memcpy(names, asked->ppEnabledExtensionNames, n * sizeof(names[0]));
    names[n] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    info.enabledExtensionCount = n + 1;
    info.ppEnabledExtensionNames = names;
    info.pNext = &features;
    have_statistics =
        vkCreateDevice(physical, &info, callbacks, device) == VK_SUCCESS;
    return have_statistics ? VK_SUCCESS
                           : vkCreateDevice(physical, asked, callbacks, device);
}

/* Without a kernel driver a device may report no memory that the host can map,
 * and the module would refuse it. */
static void wrapped_memory(VkPhysicalDevice physical,
                           VkPhysicalDeviceMemoryProperties2 *properties)
{
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    vkGetPhysicalDeviceMemoryProperties2(physical, properties);
    VkPhysicalDeviceMemoryProperties *p = &properties->memoryProperties;
    for (uint32_t i = 0; i < p->memoryTypeCount; i++)
        if ((p->memoryTypes[i].propertyFlags & host) == host)
            return;
    p->memoryHeapCount = p->memoryTypeCount = 1;
    p->memoryHeaps[0] =
        (VkMemoryHeap){1u << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    p->memoryTypes[0] =
        (VkMemoryType){host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
}

/* True for a pipeline of matrices, which has more constants than a kernel has
 * keys. */
static bool coopmat_is(const VkSpecializationInfo *constants)
{
    return constants->mapEntryCount > LAUNCH_KEYS;
}

/* Its name: the constants are numbered in kernels/gemm/coopmat.comp. */
static void coopmat_name(const VkSpecializationInfo *constants)
{
    const uint32_t *c = constants->pData;
    snprintf(variant, sizeof(variant),
             "gemm_coopmat DTYPE=%s M=%u N=%u K=%u SUBGROUP=%u MATRICES=%u "
             "DEPTH=%u",
             coopmat_kinds == 0 ? "f16" : "bf16", c[1], c[2], c[3], c[4], c[7],
             c[8]);
}

static VkResult
wrapped_create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t n,
                         const VkComputePipelineCreateInfo *asked,
                         const VkAllocationCallbacks *callbacks,
                         VkPipeline *pipeline)
{
    VkComputePipelineCreateInfo info = *asked;
    (void)cache;
    if (have_statistics)
        info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    if (coopmat_is(info.stage.pSpecializationInfo))
        coopmat_name(info.stage.pSpecializationInfo);
    VkResult e = vkCreateComputePipelines(device, VK_NULL_HANDLE, n, &info,
                                          callbacks, pipeline);
    if (e == VK_SUCCESS) {
        printf("made\t%s", variant);
        if (have_statistics)
            statistics_print(device, *pipeline);
        printf("\n");
    } else if (coopmat_is(info.stage.pSpecializationInfo)) {
        printf("error\t%s\t%s\n", variant, vulkan_result_name(e));
    }
    return e;
}

/* ---- in the place of coopmat_test.c ---- */

ssq_status coopmat_test(struct backend_device *d, struct coopmat_kind *kind,
                        const struct coopmat_tile *tile, bool *passed)
{
    (void)d;
    (void)tile;
    snprintf(kind->why.text, sizeof(kind->why.text), "not run here");
    *passed = false;
    return SSQ_OK;
}

/* Only launches call it. */
void coopmat_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
                  uint64_t bytes, uint32_t unit, enum access access)
{
    (void)l;
    (void)mem;
    (void)offset;
    (void)bytes;
    (void)unit;
    (void)access;
}

/* ---- all pipelines ---- */

/* True for a kernel that the command line asks for. */
static bool kernel_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

/* All variants of a kernel; returns how many failed. */
static unsigned kernel_make(struct backend_device *d, const struct kernel *k)
{
    unsigned failed = 0;
    for (uint32_t v = 0; v < k->nvariants; v++) {
        const struct backend_kernel *code;
        kernel_map_name(k, k->variants[v], variant, sizeof(variant));
        if (vulkan_kernel_get(d, k, k->variants[v], &code) == SSQ_OK)
            continue;
        printf("error\t%s\t%s\n", variant, last_error);
        failed++;
    }
    return failed;
}

int main(int argc, char **argv)
{
    static struct backend_instance instance = {.core = &services};
    struct backend_device *d;
    struct why why = {""};
    char text[256];
    unsigned made = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash loses no line */
    ssq_vulkan_calls.GetPhysicalDeviceMemoryProperties2 = wrapped_memory;
    ssq_vulkan_calls.CreateDevice = wrapped_create_device;
    ssq_vulkan_calls.CreateComputePipelines = wrapped_create_pipelines;
    if (vulkan_count(&instance, &why) == 0) {
        printf("error\tdevice\t%s\n", why.text);
        return 1;
    }
    vulkan_describe(&instance, 0, text, sizeof(text));
    printf("device\t%s\n", text);
    if (vulkan_open(&instance, 0, &d) != SSQ_OK) {
        printf("error\tdevice\t%s\n", last_error);
        return 1;
    }
    for (unsigned k = 0; k < KERNEL_COUNT; k++)
        if (kernel_wanted(kernels[k].name, argc, argv)) {
            made += kernels[k].nvariants;
            failed += kernel_make(d, &kernels[k]);
        }
    vulkan_device_close(d);
    printf("done\t%u\t%u\n", made, failed);
    return failed != 0;
}
