/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - which devices the vulkan backend lists, and why not the others.
 *
 * Each case is its own process, as devices are read only once. In it the
 * module's calls report a device as a poorer one, or as a twin. */

#include <dlfcn.h>

#include "backends/vulkan/calls.h"
#include "tests/core/driver.h"

static struct vulkan_calls real;

/* The properties that the test changes. */
enum lie {
    OLD_LOADER,
    NO_DRIVER,
    NO_DEVICE,
    OLD_DEVICE,
    NO_STORAGE16,
    NO_LAYOUT,
    FEW_BUFFERS,
    SMALL_GROUPS,
    LITTLE_SHARED,
    NO_COMPUTE,
    NOT_COHERENT,
    TWIN_FASTER, /* the second of two is a discrete GPU */
    TWIN_REFUSED /* the second of two has no 16-bit storage */
};
static enum lie lie;

#define LAYOUT_FEATURES                                                        \
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES

/* A second device: a handle that no driver knows. */
static char twin_place;
#define TWIN ((VkPhysicalDevice)(void *)&twin_place)
static VkPhysicalDevice first;

static VkPhysicalDevice real_of(VkPhysicalDevice d)
{
    return d == TWIN ? first : d;
}

static VkResult version(uint32_t *api)
{
    VkResult e = real.EnumerateInstanceVersion(api);

    if (lie == OLD_LOADER)
        *api = VK_API_VERSION_1_0;
    return e;
}

static VkResult create(const VkInstanceCreateInfo *info,
                       const VkAllocationCallbacks *callbacks,
                       VkInstance *instance)
{
    return lie == NO_DRIVER ? VK_ERROR_INCOMPATIBLE_DRIVER
                            : real.CreateInstance(info, callbacks, instance);
}

static VkResult enumerate(VkInstance instance, uint32_t *n, VkPhysicalDevice *d)
{
    VkResult e = real.EnumeratePhysicalDevices(instance, n, d);

    if (e != VK_SUCCESS && e != VK_INCOMPLETE)
        return e;
    first = d[0];
    *n = lie == NO_DEVICE ? 0 : 1;
    if (lie == TWIN_FASTER || lie == TWIN_REFUSED)
        d[(*n)++] = TWIN;
    return VK_SUCCESS;
}

static void properties(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *p)
{
    VkPhysicalDeviceLimits *l = &p->properties.limits;

    real.GetPhysicalDeviceProperties2(real_of(d), p);
    if (lie == OLD_DEVICE)
        p->properties.apiVersion = VK_API_VERSION_1_0;
    if (lie == FEW_BUFFERS)
        l->maxPerStageDescriptorStorageBuffers = 8;
    if (lie == SMALL_GROUPS)
        l->maxComputeWorkGroupInvocations = 64;
    if (lie == LITTLE_SHARED)
        l->maxComputeSharedMemorySize = 8192;
    if (lie == TWIN_FASTER && d == TWIN)
        p->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (d == TWIN)
        snprintf(p->properties.deviceName, sizeof(p->properties.deviceName),
                 "the twin");
}

static void features(VkPhysicalDevice d, VkPhysicalDeviceFeatures2 *f)
{
    bool storage = lie == NO_STORAGE16 || (lie == TWIN_REFUSED && d == TWIN);

    real.GetPhysicalDeviceFeatures2(real_of(d), f);
    for (VkBaseOutStructure *s = f->pNext; s != NULL; s = s->pNext) {
        void *p = s;
        VkPhysicalDevice16BitStorageFeatures *s16 = p;
        VkPhysicalDeviceUniformBufferStandardLayoutFeatures *layout = p;

        if (storage &&
            s->sType ==
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            s16->storageBuffer16BitAccess = VK_FALSE;
        if (lie == NO_LAYOUT && s->sType == LAYOUT_FEATURES)
            layout->uniformBufferStandardLayout = VK_FALSE;
    }
}

static void families(VkPhysicalDevice d, uint32_t *n,
                     VkQueueFamilyProperties2 *f)
{
    real.GetPhysicalDeviceQueueFamilyProperties2(real_of(d), n, f);
    for (uint32_t i = 0; f != NULL && lie == NO_COMPUTE && i < *n; i++)
        f[i].queueFamilyProperties.queueFlags = VK_QUEUE_GRAPHICS_BIT;
}

static void memory(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties2 *m)
{
    real.GetPhysicalDeviceMemoryProperties2(real_of(d), m);
    for (uint32_t i = 0; lie == NOT_COHERENT && i < VK_MAX_MEMORY_TYPES; i++)
        m->memoryProperties.memoryTypes[i].propertyFlags &=
            ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

static VkResult extensions(VkPhysicalDevice d, const char *layer, uint32_t *n,
                           VkExtensionProperties *list)
{
    return real.EnumerateDeviceExtensionProperties(real_of(d), layer, n, list);
}

/* Before the library looks at devices. */
static bool put_lies(void)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/vulkan.so", getenv("SSQ_MODULE_PATH"));
    void *module = dlopen(path, RTLD_NOW);
    struct vulkan_calls *t =
        module == NULL ? NULL : dlsym(module, "ssq_vulkan_calls");
    if (t == NULL)
        return false;
    real = *t;
    t->EnumerateInstanceVersion = version;
    t->CreateInstance = create;
    t->EnumeratePhysicalDevices = enumerate;
    t->GetPhysicalDeviceProperties2 = properties;
    t->GetPhysicalDeviceFeatures2 = features;
    t->GetPhysicalDeviceQueueFamilyProperties2 = families;
    t->GetPhysicalDeviceMemoryProperties2 = memory;
    t->EnumerateDeviceExtensionProperties = extensions;
    return true;
}

/* The entry of a name; false: there is none. */
static bool entry_of(const char *name, ssq_device_entry *e)
{
    for (size_t i = 0; i < ssq_device_count(); i++)
        if (ssq_device_list(i, e) == SSQ_OK && strcmp(e->name, name) == 0)
            return true;
    return false;
}

/* Are all parts there, of a list with |? */
static bool has_all(const char *text, const char *parts)
{
    char part[64];

    for (; *parts != '\0'; parts += *parts == '|') {
        size_t n = strcspn(parts, "|");
        snprintf(part, sizeof(part), "%.*s", (int)n, parts);
        if (!core_has(text, part))
            return false;
        parts += n;
    }
    return true;
}

static const struct refusal {
    enum lie lie;
    const char *why; /* parts of the reason */
} refusals[] = {
    {OLD_LOADER, "loader|1.0|1.1"},
    {NO_DRIVER, "no Vulkan driver|mesa-vulkan-drivers"},
    {NO_DEVICE, "no device"},
    {OLD_DEVICE, "Vulkan 1.0|1.1"},
    {NO_STORAGE16, "16-bit storage"},
    {NO_LAYOUT, "VK_KHR_uniform_buffer_standard_layout"},
    {FEW_BUFFERS, "8 storage buffers|16"},
    {SMALL_GROUPS, "groups of 64|128"},
    {LITTLE_SHARED, "8192 bytes of shared memory|16384"},
    {NO_COMPUTE, "no queue that computes"},
    {NOT_COHERENT, "no coherent memory"},
};

static int is_refused(void *arg)
{
    const struct refusal *r = arg;
    ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

    lie = r->lie;
    if (!put_lies() || !entry_of("vulkan", &e) || e.available)
        return 1;
    printf("# %s\n", e.reason);
    return has_all(e.reason, r->why) ? 0 : 2;
}

static int twin_is_first(void *arg)
{
    ssq_device_entry a = SSQ_DEVICE_ENTRY_INIT, b = SSQ_DEVICE_ENTRY_INIT;
    ssq_device *dev = NULL;

    (void)arg;
    lie = TWIN_FASTER;
    if (!put_lies() || !entry_of("vulkan:0", &a) || !entry_of("vulkan:1", &b))
        return 1;
    if (!core_has(a.description, "the twin") ||
        core_has(b.description, "the twin"))
        return 2;
    /* the other is opened by its place in the list */
    if (ssq_device_open("vulkan:1", NULL, &dev) != SSQ_OK)
        return 3;
    ssq_device_close(&dev);
    return 0;
}

static int twin_is_passed_over(void *arg)
{
    ssq_device_entry a = SSQ_DEVICE_ENTRY_INIT, b = SSQ_DEVICE_ENTRY_INIT;

    (void)arg;
    lie = TWIN_REFUSED;
    if (!put_lies() || !entry_of("vulkan:0", &a) || entry_of("vulkan:1", &b))
        return 1;
    printf("# %s\n", a.reason);
    return a.available && has_all(a.reason, "the twin|16-bit storage") ? 0 : 2;
}

int main(void)
{
    tap_begin();
    if (driver_missing("vulkan"))
        return tap_done(0);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct refusal r = refusals[i];
        int st = tap_fork(is_refused, &r, 60);

        tap_ok(tap_exited(st, 0), "refused: %s: %s", r.why, tap_status(st));
    }
    int st = tap_fork(twin_is_first, NULL, 60);
    tap_ok(tap_exited(st, 0), "a faster kind of device is listed first: %s",
           tap_status(st));
    st = tap_fork(twin_is_passed_over, NULL, 60);
    tap_ok(tap_exited(st, 0), "who is passed over stands at the first: %s",
           tap_status(st));
    return tap_done(13);
}
