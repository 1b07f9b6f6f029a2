/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h - stands between the module and all of its Vulkan calls: any of them
 * can fail, the device can be lost, and objects are counted.
 *
 * How far a queue has come does not depend on how busy the machine is. A thread
 * that asks finds all submitted work done, but learns it late: only every
 * fourth answer reports one submission more. So some submissions are in
 * progress and others are idle at the same time. */
#ifndef TESTS_VULKAN_FAKE_H
#define TESTS_VULKAN_FAKE_H

#include "backends/vulkan/calls.h"
#include "tests/api/faults.h"
#include "tests/core/driver.h"

#define FAKE_TIMELINES 8 /* at most, at the same time */
#define FAKE_LATE      4 /* answers until one more submission is reported */

static struct {
    struct vulkan_calls real;
    VkResult result; /* of the call that fails */
    /* a lost device: from the Nth call on that can tell */
    long can_tell, lose_at;
    bool lost;
    long after;      /* submissions and waits since */
    VkDevice device; /* the newest */
    /* lent to every call; NULL none */
    const VkAllocationCallbacks *callbacks;
    bool refused; /* they had no memory */
    long foreign; /* calls that came with callbacks already */
    long asked;   /* how far a queue has come */
    /* the timelines, and how far the module was told that they are */
    struct {
        VkSemaphore semaphore;
        uint64_t value;
    } told[FAKE_TIMELINES];
} vk;

/* This thread's calls find memory: see SPARED, and what is called from here. */
static _Thread_local bool fake_spared;

/* Let the device finish, so that what is told next depends on nothing but how
 * often was asked. */
static inline void fake_settle(VkDevice device)
{
    fake_spared = true;
    vk.real.DeviceWaitIdle(device);
    fake_spared = false;
}

/* A call that found no memory of ours is the one that failed. */
static inline VkResult fake_tell(const char *name, VkResult e)
{
    if (e < VK_SUCCESS && vk.refused && fault.failed == NULL) {
        fault.failed = name;
        vk.result = e;
    }
    return e;
}

/* Does an error's text name the call that failed and its result, or say that
 * the device is gone? */
static inline bool fake_told(const char *text)
{
    char number[16];

    snprintf(number, sizeof(number), "(%d)", (int)vk.result);
    return core_has(text, "vulkan: ") &&
           ((core_has(text, number) && core_has(text, fault.failed)) ||
            core_has(text, "is gone: "));
}

static inline void fake_begin(void)
{
    vk.asked = 0;
    vk.refused = false;
}

/* The callbacks of this test, in place of the module's: it should have none. */
static inline const VkAllocationCallbacks *
fake_lend(const VkAllocationCallbacks *a)
{
    vk.foreign += a != NULL;
    return vk.callbacks;
}

/* Is the device lost by now? */
static inline bool fake_is_lost(const char *name)
{
    if (!vk.lost && ++vk.can_tell != vk.lose_at)
        return false;
    vk.after += vk.lost;
    if (!vk.lost) { /* a lost device runs nothing any more */
        fault.failed = name;
        fake_settle(vk.device);
    }
    vk.lost = true;
    return true;
}

/* Does this call fail? */
static inline bool fake_fails(const char *name)
{
    return vk.callbacks == NULL && faults_next(name);
}

/* The highest known value of a timeline. */
static inline uint64_t *fake_reached(VkSemaphore s)
{
    for (int i = 0; i < FAKE_TIMELINES; i++)
        if (vk.told[i].semaphore == s)
            return &vk.told[i].value;
    for (int i = 0; i < FAKE_TIMELINES; i++)
        if (vk.told[i].semaphore == VK_NULL_HANDLE) {
            vk.told[i].semaphore = s;
            vk.told[i].value = 0;
            return &vk.told[i].value;
        }
    tap_bail("more than %d timelines", FAKE_TIMELINES);
    return NULL;
}

/* Calls that ask, set or record. */
#define ASKS(NAME, PARAMS, ARGS)                                               \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME PARAMS                    \
    {                                                                          \
        if (fake_fails("vk" #NAME))                                            \
            return vk.result;                                                  \
        return fake_tell("vk" #NAME, vk.real.NAME ARGS);                       \
    }
ASKS(EnumerateInstanceVersion, (uint32_t * v), (v))
ASKS(EnumeratePhysicalDevices, (VkInstance i, uint32_t *n, VkPhysicalDevice *p),
     (i, n, p))
ASKS(EnumerateDeviceExtensionProperties,
     (VkPhysicalDevice p, const char *l, uint32_t *n, VkExtensionProperties *x),
     (p, l, n, x))
ASKS(BindBufferMemory,
     (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))
ASKS(MapMemory,
     (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize n,
      VkMemoryMapFlags f, void **p),
     (d, m, o, n, f, p))
ASKS(GetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t *n, void *p),
     (d, c, n, p))
ASKS(MergePipelineCaches,
     (VkDevice d, VkPipelineCache c, uint32_t n, const VkPipelineCache *s),
     (d, c, n, s))
/* sets go with their pool */
ASKS(AllocateDescriptorSets,
     (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *s),
     (d, i, s))
/* and command buffers with theirs */
ASKS(AllocateCommandBuffers,
     (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *c),
     (d, i, c))
ASKS(ResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f),
     (d, p, f))
ASKS(BeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i),
     (c, i))
ASKS(EndCommandBuffer, (VkCommandBuffer c), (c))
ASKS(ResetFences, (VkDevice d, uint32_t n, const VkFence *f), (d, n, f))

/* Calls that can report a lost device. */
#define TELLS(NAME, PARAMS, ARGS)                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME PARAMS                    \
    {                                                                          \
        if (fake_is_lost("vk" #NAME))                                          \
            return VK_ERROR_DEVICE_LOST;                                       \
        if (fake_fails("vk" #NAME))                                            \
            return vk.result;                                                  \
        return fake_tell("vk" #NAME, vk.real.NAME ARGS);                       \
    }
TELLS(DeviceWaitIdle, (VkDevice d), (d))
TELLS(QueueWaitIdle, (VkQueue q), (q))
TELLS(QueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f),
      (q, n, i, f))
TELLS(WaitForFences,
      (VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t),
      (d, n, f, all, t))

static VKAPI_ATTR VkResult VKAPI_CALL fakeGetFenceStatus(VkDevice d, VkFence f)
{
    if (fake_is_lost("vkGetFenceStatus"))
        return VK_ERROR_DEVICE_LOST;
    if (fake_fails("vkGetFenceStatus"))
        return vk.result;
    fake_settle(d);
    return ++vk.asked % FAKE_LATE != 0 ? VK_NOT_READY
                                       : vk.real.GetFenceStatus(d, f);
}

/* Calls that create and destroy. */
#define CREATES(NAME, OF, TYPE, INFO)                                          \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME(                          \
        OF of, const INFO *info, const VkAllocationCallbacks *a, TYPE *made)   \
    {                                                                          \
        if (fake_fails("vk" #NAME))                                            \
            return vk.result;                                                  \
        VkResult e = vk.real.NAME(of, info, fake_lend(a), made);               \
        fault.live += e == VK_SUCCESS;                                         \
        return fake_tell("vk" #NAME, e);                                       \
    }
#define DESTROYS(NAME, OF, TYPE)                                               \
    static VKAPI_ATTR void VKAPI_CALL fake##NAME(                              \
        OF of, TYPE object, const VkAllocationCallbacks *a)                    \
    {                                                                          \
        fault.live -= object != VK_NULL_HANDLE;                                \
        vk.real.NAME(of, object, fake_lend(a));                                \
    }
#define MAKES(NAME)                                                            \
    CREATES(Create##NAME, VkDevice, Vk##NAME, Vk##NAME##CreateInfo)            \
    DESTROYS(Destroy##NAME, VkDevice, Vk##NAME)
MAKES(Buffer)
MAKES(DescriptorSetLayout)
MAKES(ShaderModule)
MAKES(PipelineCache)
MAKES(DescriptorPool)
MAKES(CommandPool)
MAKES(QueryPool)
CREATES(CreateSemaphore, VkDevice, VkSemaphore, VkSemaphoreCreateInfo)
MAKES(Fence)

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateDevice(VkPhysicalDevice of, const VkDeviceCreateInfo *info,
                 const VkAllocationCallbacks *a, VkDevice *made)
{
    if (fake_fails("vkCreateDevice"))
        return vk.result;
    VkResult e = vk.real.CreateDevice(of, info, fake_lend(a), made);
    fault.live += e == VK_SUCCESS;
    vk.device = *made;
    return fake_tell("vkCreateDevice", e);
}

static VKAPI_ATTR void VKAPI_CALL fakeDestroySemaphore(
    VkDevice device, VkSemaphore s, const VkAllocationCallbacks *a)
{
    for (int i = 0; i < FAKE_TIMELINES; i++)
        if (vk.told[i].semaphore == s)
            vk.told[i].semaphore = VK_NULL_HANDLE;
    fault.live -= s != VK_NULL_HANDLE;
    vk.real.DestroySemaphore(device, s, fake_lend(a));
}

/* lavapipe 22.3 writes to one that it got no memory for */
static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreatePipelineLayout(VkDevice of, const VkPipelineLayoutCreateInfo *info,
                         const VkAllocationCallbacks *a, VkPipelineLayout *made)
{
    if (fake_fails("vkCreatePipelineLayout"))
        return vk.result;
    fake_spared = true;
    VkResult e = vk.real.CreatePipelineLayout(of, info, fake_lend(a), made);
    fake_spared = false;
    fault.live += e == VK_SUCCESS;
    return e;
}
DESTROYS(DestroyPipelineLayout, VkDevice, VkPipelineLayout)

CREATES(AllocateMemory, VkDevice, VkDeviceMemory, VkMemoryAllocateInfo)
DESTROYS(FreeMemory, VkDevice, VkDeviceMemory)
DESTROYS(DestroyPipeline, VkDevice, VkPipeline)

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateInstance(const VkInstanceCreateInfo *info,
                   const VkAllocationCallbacks *a, VkInstance *made)
{
    if (fake_fails("vkCreateInstance"))
        return vk.result;
    VkResult e = vk.real.CreateInstance(info, fake_lend(a), made);
    fault.live += e == VK_SUCCESS;
    return fake_tell("vkCreateInstance", e);
}

static VKAPI_ATTR void VKAPI_CALL
fakeDestroyInstance(VkInstance instance, const VkAllocationCallbacks *a)
{
    fault.live -= instance != VK_NULL_HANDLE;
    vk.real.DestroyInstance(instance, fake_lend(a));
}

static VKAPI_ATTR void VKAPI_CALL
fakeDestroyDevice(VkDevice device, const VkAllocationCallbacks *a)
{
    fault.live -= device != VK_NULL_HANDLE;
    vk.real.DestroyDevice(device, fake_lend(a));
}

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateComputePipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                           const VkComputePipelineCreateInfo *info,
                           const VkAllocationCallbacks *a, VkPipeline *made)
{
    if (fake_fails("vkCreateComputePipelines")) {
        for (uint32_t i = 0; i < n; i++)
            made[i] = VK_NULL_HANDLE;
        return vk.result;
    }
    VkResult e =
        vk.real.CreateComputePipelines(d, c, n, info, fake_lend(a), made);
    for (uint32_t i = 0; i < n; i++)
        fault.live += made[i] != VK_NULL_HANDLE;
    return fake_tell("vkCreateComputePipelines", e);
}

/* The calls for timelines, which the device hands out by name. */
static PFN_vkWaitSemaphores real_wait;
static PFN_vkGetSemaphoreCounterValue real_value;

static VKAPI_ATTR VkResult VKAPI_CALL fake_wait(VkDevice d,
                                                const VkSemaphoreWaitInfo *info,
                                                uint64_t timeout)
{
    if (fake_is_lost("vkWaitSemaphores"))
        return VK_ERROR_DEVICE_LOST;
    if (fake_fails("vkWaitSemaphores"))
        return vk.result;
    VkResult e = real_wait(d, info, timeout);
    for (uint32_t i = 0; e == VK_SUCCESS && i < info->semaphoreCount; i++) {
        uint64_t *reached = fake_reached(info->pSemaphores[i]);

        if (*reached < info->pValues[i])
            *reached = info->pValues[i];
    }
    return fake_tell("vkWaitSemaphores", e);
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_value(VkDevice d, VkSemaphore s,
                                                 uint64_t *value)
{
    if (fake_is_lost("vkGetSemaphoreCounterValue"))
        return VK_ERROR_DEVICE_LOST;
    if (fake_fails("vkGetSemaphoreCounterValue"))
        return vk.result;
    fake_settle(d);
    VkResult e = real_value(d, s, value);
    uint64_t *reached = fake_reached(s);
    if (*reached < *value)
        *reached += ++vk.asked % FAKE_LATE == 0;
    *value = *reached;
    return fake_tell("vkGetSemaphoreCounterValue", e);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
fakeGetDeviceProcAddr(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = vk.real.GetDeviceProcAddr(device, name);

    if (real == NULL || fake_fails("vkGetDeviceProcAddr"))
        return NULL;
    if (strncmp(name, "vkWaitSemaphores", 16) == 0) {
        real_wait = (PFN_vkWaitSemaphores)real;
        return (PFN_vkVoidFunction)fake_wait;
    }
    if (strncmp(name, "vkGetSemaphoreCounterValue", 26) == 0) {
        real_value = (PFN_vkGetSemaphoreCounterValue)real;
        return (PFN_vkVoidFunction)fake_value;
    }
    return real;
}

/* Calls in which lavapipe 22.3 uses memory that it did not get. */
#define SPARED(NAME, PARAMS, ARGS)                                             \
    static VKAPI_ATTR void VKAPI_CALL fake##NAME PARAMS                        \
    {                                                                          \
        fake_spared = true;                                                    \
        vk.real.NAME ARGS;                                                     \
        fake_spared = false;                                                   \
    }
SPARED(CmdBindDescriptorSets,
       (VkCommandBuffer c, VkPipelineBindPoint p, VkPipelineLayout l,
        uint32_t first, uint32_t n, const VkDescriptorSet *s, uint32_t no,
        const uint32_t *o),
       (c, p, l, first, n, s, no, o))
/* when it fails it frees what it has not set */
SPARED(CmdPipelineBarrier,
       (VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
        VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *m, uint32_t nb,
        const VkBufferMemoryBarrier *b, uint32_t ni,
        const VkImageMemoryBarrier *i),
       (c, from, to, f, n, m, nb, b, ni, i))

SPARED(CmdCopyBuffer,
       (VkCommandBuffer c, VkBuffer from, VkBuffer to, uint32_t n,
        const VkBufferCopy *parts),
       (c, from, to, n, parts))

/* Calls that cannot fail. */
#define fakeGetInstanceProcAddr          vk.real.GetInstanceProcAddr
#define fakeGetPhysicalDeviceFeatures2   vk.real.GetPhysicalDeviceFeatures2
#define fakeGetPhysicalDeviceProperties2 vk.real.GetPhysicalDeviceProperties2
#define fakeGetPhysicalDeviceMemoryProperties2                                 \
    vk.real.GetPhysicalDeviceMemoryProperties2
#define fakeGetPhysicalDeviceQueueFamilyProperties2                            \
    vk.real.GetPhysicalDeviceQueueFamilyProperties2
#define fakeGetDeviceQueue              vk.real.GetDeviceQueue
#define fakeGetBufferMemoryRequirements vk.real.GetBufferMemoryRequirements
#define fakeUpdateDescriptorSets        vk.real.UpdateDescriptorSets
#define fakeCmdBindPipeline             vk.real.CmdBindPipeline
#define fakeCmdDispatch                 vk.real.CmdDispatch
#define fakeCmdCopyQueryPoolResults     vk.real.CmdCopyQueryPoolResults
#define fakeCmdFillBuffer               vk.real.CmdFillBuffer
#define fakeCmdExecuteCommands          vk.real.CmdExecuteCommands
#define fakeCmdWriteTimestamp           vk.real.CmdWriteTimestamp
#define fakeCmdResetQueryPool           vk.real.CmdResetQueryPool

/* Put the above in the module's table, all of it. */
static inline void fake_between(void)
{
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");

    /* a driver that is not the one of the cache: it has its own certificate */
    setenv("SSQ_CACHE", "0", 1);
    /* calls are made in the same order each time */
    setenv("SSQ_VULKAN_THREADS", "0", 1);
    vk.real = *table;
    *table = (struct vulkan_calls){
#define X(NAME) .NAME = fake##NAME,
        VULKAN_CALLS(X)
#undef X
    };
}

#endif
