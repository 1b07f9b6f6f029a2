/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a training program in which the Nth Vulkan call fails, for every
 * N; and one whose device is lost.
 *
 * The call that needs it answers SSQ_ERR_DEVICE or SSQ_ERR_NOMEM with the name
 * of the Vulkan call, or does without it and ends with the same loss. A queue
 * that failed stays as it is. Afterwards everything can be destroyed, and all
 * Vulkan objects are. */

#include "tests/api/training.h"
#include "tests/vulkan/table.h"

static struct {
    struct vulkan_calls real;
    VkResult result; /* of the call that fails */
    long calls;
    long fail_at;       /* which call fails; 0 none */
    const char *failed; /* its name, when it did */
    long live;          /* objects created, less those destroyed */
    /* a lost device: from the Nth call on that can tell */
    long can_tell, lose_at;
    bool lost;
    long after;      /* submissions and waits since */
    VkDevice device; /* the newest */
} vk;

/* Does this call fail? */
static bool fails(const char *name)
{
    if (++vk.calls != vk.fail_at)
        return false;
    vk.failed = name;
    return true;
}

/* Is the device lost by now? */
static bool is_lost(const char *name)
{
    if (!vk.lost && ++vk.can_tell != vk.lose_at)
        return false;
    vk.after += vk.lost;
    if (!vk.lost) { /* a lost device runs nothing any more */
        vk.failed = name;
        vk.real.DeviceWaitIdle(vk.device);
    }
    vk.lost = true;
    return true;
}

/* Calls that ask, set or record. */
#define ASKS(NAME, PARAMS, ARGS)                                               \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME PARAMS                    \
    {                                                                          \
        return fails("vk" #NAME) ? vk.result : vk.real.NAME ARGS;              \
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

/* Calls that can tell of a lost device. */
#define TELLS(NAME, PARAMS, ARGS)                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME PARAMS                    \
    {                                                                          \
        if (is_lost("vk" #NAME))                                               \
            return VK_ERROR_DEVICE_LOST;                                       \
        return fails("vk" #NAME) ? vk.result : vk.real.NAME ARGS;              \
    }
TELLS(DeviceWaitIdle, (VkDevice d), (d))
TELLS(QueueWaitIdle, (VkQueue q), (q))
TELLS(QueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f),
      (q, n, i, f))
TELLS(WaitForFences,
      (VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t),
      (d, n, f, all, t))

/* Asked again and again: one that is not ready is no call, or there would be
 * no end of them. */
static VKAPI_ATTR VkResult VKAPI_CALL fakeGetFenceStatus(VkDevice d, VkFence f)
{
    VkResult e = vk.lost ? VK_ERROR_DEVICE_LOST : vk.real.GetFenceStatus(d, f);

    if (e == VK_NOT_READY)
        return e;
    if (is_lost("vkGetFenceStatus"))
        return VK_ERROR_DEVICE_LOST;
    return fails("vkGetFenceStatus") ? vk.result : e;
}

/* Calls that create and destroy. */
#define CREATES(NAME, OF, TYPE, INFO)                                          \
    static VKAPI_ATTR VkResult VKAPI_CALL fake##NAME(                          \
        OF of, const INFO *info, const VkAllocationCallbacks *a, TYPE *made)   \
    {                                                                          \
        if (fails("vk" #NAME))                                                 \
            return vk.result;                                                  \
        VkResult e = vk.real.NAME(of, info, a, made);                          \
        vk.live += e == VK_SUCCESS;                                            \
        return e;                                                              \
    }
#define DESTROYS(NAME, OF, TYPE)                                               \
    static VKAPI_ATTR void VKAPI_CALL fake##NAME(                              \
        OF of, TYPE object, const VkAllocationCallbacks *a)                    \
    {                                                                          \
        vk.live -= object != VK_NULL_HANDLE;                                   \
        vk.real.NAME(of, object, a);                                           \
    }
#define MAKES(NAME)                                                            \
    CREATES(Create##NAME, VkDevice, Vk##NAME, Vk##NAME##CreateInfo)            \
    DESTROYS(Destroy##NAME, VkDevice, Vk##NAME)
MAKES(Buffer)
MAKES(DescriptorSetLayout)
MAKES(PipelineLayout)
MAKES(ShaderModule)
MAKES(PipelineCache)
MAKES(DescriptorPool)
MAKES(CommandPool)
MAKES(QueryPool)
MAKES(Semaphore)
MAKES(Fence)

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateDevice(VkPhysicalDevice of, const VkDeviceCreateInfo *info,
                 const VkAllocationCallbacks *a, VkDevice *made)
{
    if (fails("vkCreateDevice"))
        return vk.result;
    VkResult e = vk.real.CreateDevice(of, info, a, made);
    vk.live += e == VK_SUCCESS;
    vk.device = *made;
    return e;
}

CREATES(AllocateMemory, VkDevice, VkDeviceMemory, VkMemoryAllocateInfo)
DESTROYS(FreeMemory, VkDevice, VkDeviceMemory)
DESTROYS(DestroyPipeline, VkDevice, VkPipeline)

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateInstance(const VkInstanceCreateInfo *info,
                   const VkAllocationCallbacks *a, VkInstance *made)
{
    if (fails("vkCreateInstance"))
        return vk.result;
    VkResult e = vk.real.CreateInstance(info, a, made);
    vk.live += e == VK_SUCCESS;
    return e;
}

static VKAPI_ATTR void VKAPI_CALL
fakeDestroyInstance(VkInstance instance, const VkAllocationCallbacks *a)
{
    vk.live -= instance != VK_NULL_HANDLE;
    vk.real.DestroyInstance(instance, a);
}

static VKAPI_ATTR void VKAPI_CALL
fakeDestroyDevice(VkDevice device, const VkAllocationCallbacks *a)
{
    vk.live -= device != VK_NULL_HANDLE;
    vk.real.DestroyDevice(device, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL
fakeCreateComputePipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                           const VkComputePipelineCreateInfo *info,
                           const VkAllocationCallbacks *a, VkPipeline *made)
{
    if (fails("vkCreateComputePipelines")) {
        for (uint32_t i = 0; i < n; i++)
            made[i] = VK_NULL_HANDLE;
        return vk.result;
    }
    VkResult e = vk.real.CreateComputePipelines(d, c, n, info, a, made);
    for (uint32_t i = 0; i < n; i++)
        vk.live += made[i] != VK_NULL_HANDLE;
    return e;
}

/* The calls for timelines, which the device hands out by name. */
static PFN_vkWaitSemaphores real_wait;
static PFN_vkGetSemaphoreCounterValue real_value;

static VKAPI_ATTR VkResult VKAPI_CALL fake_wait(VkDevice d,
                                                const VkSemaphoreWaitInfo *info,
                                                uint64_t timeout)
{
    if (is_lost("vkWaitSemaphores"))
        return VK_ERROR_DEVICE_LOST;
    return fails("vkWaitSemaphores") ? vk.result : real_wait(d, info, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_value(VkDevice d, VkSemaphore s,
                                                 uint64_t *value)
{
    if (is_lost("vkGetSemaphoreCounterValue"))
        return VK_ERROR_DEVICE_LOST;
    return fails("vkGetSemaphoreCounterValue") ? vk.result
                                               : real_value(d, s, value);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
fakeGetDeviceProcAddr(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = vk.real.GetDeviceProcAddr(device, name);

    if (real == NULL || fails("vkGetDeviceProcAddr"))
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
#define fakeCmdBindDescriptorSets       vk.real.CmdBindDescriptorSets
#define fakeCmdDispatch                 vk.real.CmdDispatch
#define fakeCmdPipelineBarrier          vk.real.CmdPipelineBarrier
#define fakeCmdCopyBuffer               vk.real.CmdCopyBuffer
#define fakeCmdCopyQueryPoolResults     vk.real.CmdCopyQueryPoolResults
#define fakeCmdFillBuffer               vk.real.CmdFillBuffer
#define fakeCmdExecuteCommands          vk.real.CmdExecuteCommands
#define fakeCmdWriteTimestamp           vk.real.CmdWriteTimestamp
#define fakeCmdResetQueryPool           vk.real.CmdResetQueryPool

/* Put the above in the module's table, all of it. */
static void stand_between(void)
{
    struct vulkan_calls *table = vulkan_table();

    vk.real = *table;
    *table = (struct vulkan_calls){
#define X(NAME) .NAME = fake##NAME,
        VULKAN_CALLS(X)
#undef X
    };
}

/* What was wrong, in all trials of a test. */
struct faults {
    long refused, status, text, sticky, result, leak;
};

/* A failed call: does it say so, and does its queue remember? */
static void judge(struct training *p, size_t stage, ssq_status st,
                  struct faults *f)
{
    char text[1100], number[16];
    const char *name = training_stages[stage].name;

    f->refused++;
    snprintf(text, sizeof(text), "%s", ssq_last_error());
    snprintf(number, sizeof(number), "(%d)", (int)vk.result);
    if (vk.failed == NULL || (st != SSQ_ERR_DEVICE && st != SSQ_ERR_NOMEM)) {
        f->status++;
        tap_diag("call %ld (%s), %s: %s: %s", vk.fail_at, vk.failed, name,
                 ssq_status_name(st), text);
    } else if (!core_has(text, "vulkan: ") ||
               ((!core_has(text, number) || !core_has(text, vk.failed)) &&
                !core_has(text, "is gone: "))) {
        f->text++;
        tap_diag("call %ld (%s), %s: \"%s\"", vk.fail_at, vk.failed, name,
                 text);
    }
    ssq_status now = p->q == NULL ? SSQ_OK : ssq_queue_sync(p->q);
    if (now != SSQ_OK && now != SSQ_ERR_INVALID &&
        ((now != SSQ_ERR_DEVICE && now != SSQ_ERR_NOMEM) ||
         ssq_queue_sync(p->q) != now)) {
        f->sticky++;
        tap_diag("call %ld (%s), %s: sync: %s: %s", vk.fail_at, vk.failed, name,
                 ssq_status_name(now), ssq_last_error());
    }
}

/* Stages first .. end - 1, until one fails. */
static bool run(struct training *p, size_t first, size_t end, struct faults *f)
{
    for (size_t i = first; i < end; i++) {
        ssq_status st = training_stages[i].run(p);

        if (st == SSQ_ERR_NOT_READY)
            continue;
        if (st != SSQ_OK) {
            judge(p, i, st, f);
            return false;
        }
    }
    return true;
}

/* With everything new: from the device on, or on a device that is there. */
static void close_all(struct training *p, ssq_device *shared)
{
    if (shared != NULL)
        p->dev = NULL;
    training_close(p);
    if (shared != NULL)
        ssq_device_trim(shared);
}

static size_t stage_named(const char *name)
{
    for (size_t i = 0; i < TRAINING_STAGES; i++)
        if (strcmp(training_stages[i].name, name) == 0)
            return i;
    tap_bail("no stage %s", name);
    return 0;
}

/* The Nth call of stages first .. end - 1 fails, for all N. */
static void sweep(const char *what, ssq_device *shared, size_t first,
                  size_t end)
{
    struct training p = {.name = "vulkan:0", .dev = shared};
    struct faults f = {0};
    long n = 0;

    vk.fail_at = 0;
    if (!run(&p, first, end, &f))
        tap_bail("%s: %s", what, ssq_last_error());
    const float loss = p.loss;
    close_all(&p, shared);
    const long live = vk.live;
    do {
        p = (struct training){.name = "vulkan:0", .dev = shared};
        vk.calls = 0;
        vk.failed = NULL;
        vk.fail_at = ++n;
        bool done = run(&p, first, end, &f);
        if (done && (memcmp(&p.loss, &loss, sizeof(loss)) != 0)) {
            f.result++;
            tap_diag("call %ld (%s): loss %g, not %g", n, vk.failed,
                     (double)p.loss, (double)loss);
        }
        close_all(&p, shared);
        if (vk.live != live) {
            f.leak++;
            tap_diag("call %ld (%s): %ld objects are left", n, vk.failed,
                     vk.live - live);
            vk.live = live;
        }
    } while (vk.failed != NULL);
    vk.fail_at = 0;
    tap_ok(f.refused > n / 4, "%s: %ld calls failed, %ld were told of", what,
           n - 1, f.refused);
    tap_ok(f.status == 0 && f.text == 0,
           "%s: as device or memory errors that name the call, but %ld and %ld",
           what, f.status, f.text);
    tap_ok(f.sticky == 0, "%s: queues that failed stay so, but %ld", what,
           f.sticky);
    tap_ok(f.result == 0, "%s: the others end with the same loss, but %ld",
           what, f.result);
    tap_ok(f.leak == 0, "%s: everything is destroyed, but %ld times", what,
           f.leak);
}

static void sweeps(const char *how, VkResult result)
{
    ssq_device *dev = NULL;
    char what[64];

    vk.result = result;
    snprintf(what, sizeof(what), "open, %s", how);
    sweep(what, NULL, 0, stage_named("gemm: logits"));
    NEED(ssq_device_open("vulkan:0", NULL, &dev));
    snprintf(what, sizeof(what), "training, %s", how);
    sweep(what, dev, 1, TRAINING_STAGES);
    ssq_device_close(&dev);
}

/* ---- a lost device ---- */

struct losses {
    long seen, status, later, names, leak;
    double slowest;
};

/* The device was lost in a stage: everything says so from now on, at once. */
static void judge_lost(struct training *p, const char *stage, ssq_status st,
                       struct losses *l)
{
    char text[1100];
    ssq_queue *other = NULL;
    ssq_tensor *t = NULL;
    const int64_t n = 1 << 20;

    snprintf(text, sizeof(text), "%s", ssq_last_error());
    l->seen++;
    l->names += core_has(text, "last submitted: ");
    if (st != SSQ_ERR_DEVICE || !core_has(text, "VK_ERROR_DEVICE_LOST (-4)") ||
        !core_has(text, vk.failed)) {
        l->status++;
        tap_diag("lost at %ld (%s), %s: %s: %s", vk.lose_at, vk.failed, stage,
                 ssq_status_name(st), text);
    }
    vk.after = 0;
    double began = tap_seconds();
    ssq_status later[] = {
        p->q == NULL ? SSQ_ERR_DEVICE : ssq_queue_sync(p->q),
        p->q == NULL ? SSQ_ERR_DEVICE : training_read(p),
        ssq_queue_create(p->dev, NULL, &other),
        ssq_tensor_create(p->dev, SSQ_F32, 1, &n, &t),
    };
    for (size_t i = 0; i < 3; i++)
        if (later[i] != SSQ_ERR_DEVICE) {
            l->later++;
            tap_diag("lost at %ld (%s), %s, later call %zu: %s: %s", vk.lose_at,
                     vk.failed, stage, i, ssq_status_name(later[i]),
                     ssq_last_error());
        }
    if (vk.after > 4) { /* each queue may look once for what became of it */
        l->later++;
        tap_diag("lost at %ld (%s), %s: %ld calls since", vk.lose_at, vk.failed,
                 stage, vk.after);
    }
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&other);
    training_close(p);
    double seconds = tap_seconds() - began;
    l->slowest = seconds > l->slowest ? seconds : l->slowest;
}

static void lose(struct losses *l)
{
    struct training p = {.name = "vulkan:0"};
    const long live = vk.live;

    for (size_t i = 0; i < TRAINING_STAGES; i++) {
        ssq_status st = training_stages[i].run(&p);

        if (st == SSQ_OK || st == SSQ_ERR_NOT_READY)
            continue;
        if (p.dev != NULL)
            judge_lost(&p, training_stages[i].name, st, l);
        break;
    }
    training_close(&p);
    if (vk.live != live) {
        l->leak++;
        tap_diag("lost at %ld (%s): %ld objects are left", vk.lose_at,
                 vk.failed, vk.live - live);
        vk.live = live;
    }
}

/* At the Nth call that can tell, for all N. */
static void test_lost(const char *what)
{
    struct losses l = {0};
    long n = 0;

    do {
        vk.failed = NULL;
        vk.lost = false;
        vk.can_tell = 0;
        vk.lose_at = ++n;
        lose(&l);
    } while (vk.lost);
    vk.lose_at = 0;
    tap_ok(l.seen > n / 2 && l.status == 0,
           "%s: lost at %ld calls, told of %ld, with another text %ld", what,
           n - 1, l.seen, l.status);
    tap_ok(l.names > 0, "%s: %ld texts name the last kernels", what, l.names);
    tap_ok(l.later == 0, "%s: later calls say so too, but %ld", what, l.later);
    tap_ok(l.slowest < 20, "%s: and at once: in %g seconds, with the end", what,
           l.slowest);
    tap_ok(l.leak == 0, "%s: everything is destroyed, but %ld times", what,
           l.leak);
}

int main(void)
{
    if (vulkan_missing())
        return tap_done(0);
    stand_between();
    sweeps("no memory", VK_ERROR_OUT_OF_HOST_MEMORY);
    sweeps("failed", VK_ERROR_INITIALIZATION_FAILED);
    test_lost("timelines");
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    sweeps("fences", VK_ERROR_OUT_OF_DEVICE_MEMORY);
    test_lost("fences");
    tap_ok(vk.live == 0, "no object is left in the end, but %ld", vk.live);
    return tap_done(41);
}
