/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - chains of features and properties: asked for, and switched on.
 *
 * A structure may be in a chain only where the device knows it, by its version
 * or by an extension: a feature that is left out stays zero, which means no. */
#include "backends/vulkan/features.h"

#include <stddef.h>
#include <string.h>

/* A structure of a chain, known since a version of Vulkan or by an
 * extension. */
struct features_part {
    size_t at; /* bytes, in the struct of all */
    VkStructureType type;
    /* version that includes it without the extension; 0: none yet */
    uint32_t core;
    const char *extension;
};

/* clang-format off */
#define AT(MEMBER) offsetof(struct vulkan_features, MEMBER)
/* Vulkan's name for this is longer than a line. */
#define FEATURES_KHR(NAME)                                                     \
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##NAME##_FEATURES_KHR
#define EXECUTABLE_FEATURES FEATURES_KHR(PIPELINE_EXECUTABLE_PROPERTIES)
static const struct features_part feature_parts[] = {
    {AT(storage16), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
     VK_API_VERSION_1_1, NULL},
    {AT(storage8), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
     VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME},
    {AT(layout),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES,
     VK_API_VERSION_1_2, VK_KHR_UNIFORM_BUFFER_STANDARD_LAYOUT_EXTENSION_NAME},
    {AT(arithmetic),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
     VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME},
    {AT(timeline),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
     VK_API_VERSION_1_2, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME},
    {AT(memory_model),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
     VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME},
    {AT(subgroup),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
     VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME},
    {AT(coopmat),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, 0,
     VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME},
    {AT(bfloat16),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR, 0,
     VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME},
    {AT(executable), EXECUTABLE_FEATURES, 0,
     VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME},
};
#undef AT

#define AT(MEMBER) offsetof(struct vulkan_properties, MEMBER)
static const struct features_part property_parts[] = {
    {AT(maintenance3),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
     VK_API_VERSION_1_1, NULL},
    {AT(maintenance4),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
     VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME},
    {AT(subgroup), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
     VK_API_VERSION_1_1, NULL},
    {AT(subgroup_size),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
     VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME},
    {AT(driver), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
     VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME},
    {AT(float_controls),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
     VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME},
    {AT(amd), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, 0,
     VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME},
    {AT(nv), VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV,
     0, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME},
    {AT(arm),
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM, 0,
     VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME},
};
#undef AT
/* clang-format on */

#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

/* Put a part of `all`, whose first member is the chain's head, behind the head.
 * All parts begin as VkBaseOutStructure does. */
static void chain(void *all, const struct features_part *part)
{
    VkBaseOutStructure *head = all;
    VkBaseOutStructure *s = (void *)((char *)all + part->at);
    s->sType = part->type;
    s->pNext = head->pNext;
    head->pNext = s;
}

/* The extensions of a device. */
struct extensions {
    VkExtensionProperties *list;
    uint32_t n;
};

static bool features_has(const struct extensions *x, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < x->n; i++)
        if (strcmp(x->list[i].extensionName, name) == 0)
            return true;
    return false;
}

static ssq_status list_extensions(const struct services *core,
                                  VkPhysicalDevice physical,
                                  struct extensions *x)
{
    VkResult e =
        VK(EnumerateDeviceExtensionProperties)(physical, NULL, &x->n, NULL);
    if (e == VK_SUCCESS) {
        /* + 1: a device without extensions wants no block of 0 bytes */
        size_t bytes = (x->n + 1) * sizeof(*x->list);
        x->list = core->mem_alloc(bytes);
        if (x->list == NULL)
            return vulkan_no_memory(core, bytes);
        e = VK(EnumerateDeviceExtensionProperties)(physical, NULL, &x->n,
                                                   x->list);
    }
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(core, "vkEnumerateDeviceExtensionProperties", e);
}

/* Chain the parts that a device of this version, with these extensions,
 * knows. */
static void chain_known(void *all, const struct features_part *parts, size_t n,
                        uint32_t api, const struct extensions *x)
{
    for (size_t i = 0; i < n; i++)
        if ((parts[i].core != 0 && api >= parts[i].core) ||
            features_has(x, parts[i].extension))
            chain(all, &parts[i]);
}

ssq_status vulkan_features_ask(const struct services *core,
                               VkPhysicalDevice physical, uint32_t api,
                               struct vulkan_features *f,
                               struct vulkan_properties *p)
{
    struct extensions x = {NULL, 0};
    ssq_status st = list_extensions(core, physical, &x);
    memset(f, 0, sizeof(*f));
    memset(p, 0, sizeof(*p));
    f->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    p->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    if (st == SSQ_OK) {
        chain_known(f, feature_parts, COUNT(feature_parts), api, &x);
        chain_known(p, property_parts, COUNT(property_parts), api, &x);
        p->budget = features_has(&x, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
        p->memory_fd =
            features_has(&x, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        p->semaphore_fd =
            features_has(&x, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
        VK(GetPhysicalDeviceFeatures2)(physical, &f->base);
        VK(GetPhysicalDeviceProperties2)(physical, &p->base);
    }
    core->mem_free(x.list);
    return st;
}

/* Switch on what the caps have, in all parts, those included that are not
 * chained. */
static void features_fill(const struct vulkan_caps *c,
                          struct vulkan_features *f)
{
    f->base.features.shaderInt16 = c->int16;
    f->storage16.storageBuffer16BitAccess = c->storage16;
    f->storage8.storageBuffer8BitAccess = c->storage8;
    f->layout.uniformBufferStandardLayout = VK_TRUE;
    f->arithmetic.shaderInt8 = c->int8;
    f->arithmetic.shaderFloat16 = c->coopmat;
    f->timeline.timelineSemaphore = c->timeline;
    f->memory_model.vulkanMemoryModel = c->coopmat;
    f->subgroup.subgroupSizeControl = c->subgroup_control;
    f->subgroup.computeFullSubgroups = c->subgroup_control;
    f->coopmat.cooperativeMatrix = c->coopmat;
    f->bfloat16.shaderBFloat16Type = c->shader_bfloat16;
    f->bfloat16.shaderBFloat16CooperativeMatrix = c->shader_bfloat16;
    f->executable.pipelineExecutableInfo = c->statistics;
}

/* Is anything of a part switched on? Parts of which nothing is are left out,
 * with their extensions. */
static bool part_wanted(const struct vulkan_caps *c, size_t at)
{
    switch (at) {
#define AT(MEMBER) offsetof(struct vulkan_features, MEMBER)
    case AT(storage16):
        return c->storage16;
    case AT(storage8):
        return c->storage8;
    case AT(layout): /* no device without it is opened */
        return true;
    case AT(arithmetic):
        return c->int8 || c->coopmat;
    case AT(timeline):
        return c->timeline;
    case AT(subgroup):
        return c->subgroup_control;
    case AT(bfloat16):
        return c->shader_bfloat16;
    case AT(executable):
        return c->statistics;
    default: /* memory_model, coopmat */
        return c->coopmat;
#undef AT
    }
}

uint32_t vulkan_features_wanted(const struct vulkan_caps *c,
                                struct vulkan_features *f,
                                const char *extensions[VULKAN_EXTENSIONS])
{
    uint32_t n = 0;
    memset(f, 0, sizeof(*f));
    f->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features_fill(c, f);
    for (size_t i = 0; i < COUNT(feature_parts); i++) {
        const struct features_part *part = &feature_parts[i];
        if (!part_wanted(c, part->at))
            continue;
        chain(f, part);
        if (part->core == 0 || c->api < part->core)
            extensions[n++] = part->extension;
    }
    /* The float controls are execution modes of SPIR-V: an extension without
     * features, which must be switched on nevertheless. */
    if (c->api < VK_API_VERSION_1_2 &&
        (c->denorm_preserve || c->nan_preserve || c->round_even)) {
        extensions[n++] = VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME;
    }
    if (c->memory_fd)
        extensions[n++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (c->semaphore_fd)
        extensions[n++] = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
    return n;
}
