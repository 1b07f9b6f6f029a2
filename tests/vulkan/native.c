/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - tests of <sesqui/vulkan.h>, by a plain Vulkan program: its device,
 * queue and buffers, its commands before and after ours, no copy.
 *
 * n values: own command x = -1.5 and 2.5, ours y = relu(x), own command reads
 * y; and an own command reads a tensor of ours. */

#include <vulkan/vulkan.h>

#include <sesqui/vulkan.h>

#include <pthread.h>

#include "tests/core/driver.h"

#define N     1004
#define BYTES (N * sizeof(float))

static struct {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family, features;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkBuffer x, y, z;
    VkDeviceMemory memory[3];
    float *map; /* z's */
    pthread_mutex_t lock;
    long locks, unlocks;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void own_need(VkResult e, const char *what)
{
    if (e != VK_SUCCESS)
        tap_bail("%s: %d", what, (int)e);
}

/* The device that our vulkan:0 is, if it is the loader's first. */
static void find_device(void)
{
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app};
    VkQueueFamilyProperties families[8];
    uint32_t n = 1;

    own_need(vkCreateInstance(&info, NULL, &own.instance), "vkCreateInstance");
    VkResult e = vkEnumeratePhysicalDevices(own.instance, &n, &own.physical);
    own_need(e == VK_INCOMPLETE ? VK_SUCCESS : e, "vkEnumeratePhysicalDevices");
    n = 8;
    vkGetPhysicalDeviceQueueFamilyProperties(own.physical, &n, families);
    for (uint32_t i = n; i-- > 0;)
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0)
            own.family = i;
}

/* With all that the kernels can use, of Vulkan 1.2. */
static void make_device(void)
{
    static const float priority = 1;
    VkPhysicalDeviceVulkan11Features has11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
    VkPhysicalDeviceVulkan12Features has12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &has11};
    VkPhysicalDeviceFeatures2 has = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12};

    vkGetPhysicalDeviceFeatures2(own.physical, &has);
    own.features = SSQ_VULKAN_FLOAT_CONTROLS;
    own.features |= has.features.shaderInt16 ? SSQ_VULKAN_INT16 : 0;
    own.features |= has12.storageBuffer8BitAccess ? SSQ_VULKAN_STORAGE8 : 0;
    own.features |= has12.shaderInt8 ? SSQ_VULKAN_INT8 : 0;
    own.features |= has12.timelineSemaphore ? SSQ_VULKAN_TIMELINE : 0;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = own.family,
        .queueCount = 1,
        .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType =
                                         VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &has,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    own_need(vkCreateDevice(own.physical, &info, NULL, &own.device),
             "vkCreateDevice");
    vkGetDeviceQueue(own.device, own.family, 0, &own.queue);
}

static VkBuffer make_buffer(VkDeviceMemory *memory, VkMemoryPropertyFlags want)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = BYTES,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkPhysicalDeviceMemoryProperties p;
    VkMemoryRequirements need;
    VkBuffer b;
    uint32_t type = 0;

    own_need(vkCreateBuffer(own.device, &info, NULL, &b), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(own.device, b, &need);
    vkGetPhysicalDeviceMemoryProperties(own.physical, &p);
    while ((need.memoryTypeBits >> type & 1u) == 0 ||
           (p.memoryTypes[type].propertyFlags & want) != want)
        type++;
    const VkMemoryAllocateInfo room = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = need.size,
        .memoryTypeIndex = type};
    own_need(vkAllocateMemory(own.device, &room, NULL, memory),
             "vkAllocateMemory");
    own_need(vkBindBufferMemory(own.device, b, *memory, 0),
             "vkBindBufferMemory");
    return b;
}

static void own_open(void)
{
    const VkFenceCreateInfo fence = {.sType =
                                         VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    void *map = NULL;

    find_device();
    make_device();
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = own.family};
    own_need(vkCreateCommandPool(own.device, &pool, NULL, &own.pool),
             "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = own.pool,
        .commandBufferCount = 1};
    own_need(vkAllocateCommandBuffers(own.device, &one, &own.commands),
             "vkAllocateCommandBuffers");
    own_need(vkCreateFence(own.device, &fence, NULL, &own.fence),
             "vkCreateFence");
    own.x = make_buffer(&own.memory[0], 0);
    own.y = make_buffer(&own.memory[1], 0);
    own.z =
        make_buffer(&own.memory[2], VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                        VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    own_need(vkMapMemory(own.device, own.memory[2], 0, BYTES, 0, &map),
             "vkMapMemory");
    own.map = map;
}

static void own_close(void)
{
    vkDestroyBuffer(own.device, own.x, NULL);
    vkDestroyBuffer(own.device, own.y, NULL);
    vkDestroyBuffer(own.device, own.z, NULL);
    for (int i = 0; i < 3; i++)
        vkFreeMemory(own.device, own.memory[i], NULL);
    vkDestroyFence(own.device, own.fence, NULL);
    vkDestroyCommandPool(own.device, own.pool, NULL);
    vkDestroyDevice(own.device, NULL);
    vkDestroyInstance(own.instance, NULL);
}

static void lock(void *user)
{
    pthread_mutex_lock(&own.lock);
    own.locks += user == &own;
}

static void unlock(void *user)
{
    own.unlocks += user == &own;
    pthread_mutex_unlock(&own.lock);
}

static void begin(void)
{
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    own_need(vkBeginCommandBuffer(own.commands, &info), "vkBeginCommandBuffer");
}

/* After a barrier to the next command; waited for if asked. */
static void submit(bool wait)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT |
                                                  VK_ACCESS_MEMORY_WRITE_BIT};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &own.commands};

    vkCmdPipelineBarrier(own.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT |
                             VK_PIPELINE_STAGE_HOST_BIT,
                         0, 1, &all, 0, NULL, 0, NULL);
    own_need(vkEndCommandBuffer(own.commands), "vkEndCommandBuffer");
    pthread_mutex_lock(&own.lock);
    VkResult e = vkQueueSubmit(own.queue, 1, &info, own.fence);
    pthread_mutex_unlock(&own.lock);
    own_need(e, "vkQueueSubmit");
    if (!wait)
        return;
    own_need(vkWaitForFences(own.device, 1, &own.fence, VK_TRUE, UINT64_MAX),
             "vkWaitForFences");
    own_need(vkResetFences(own.device, 1, &own.fence), "vkResetFences");
}

static void own_done(void)
{
    own_need(vkWaitForFences(own.device, 1, &own.fence, VK_TRUE, UINT64_MAX),
             "vkWaitForFences");
    own_need(vkResetFences(own.device, 1, &own.fence), "vkResetFences");
}

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

/* x = -1.5 in its first half, and value behind. */
static void own_write(float value)
{
    begin();
    vkCmdFillBuffer(own.commands, own.x, 0, BYTES / 2, bits_of(-1.5f));
    vkCmdFillBuffer(own.commands, own.x, BYTES / 2, BYTES / 2, bits_of(value));
    submit(false);
}

/* The contents of a buffer, in own.map. */
static void own_read(VkBuffer from, uint64_t offset)
{
    const VkBufferCopy part = {offset, 0, BYTES};

    begin();
    vkCmdCopyBuffer(own.commands, from, own.z, 1, &part);
    submit(true);
}

static ssq_vulkan_native native(void)
{
    ssq_vulkan_native n = SSQ_VULKAN_NATIVE_INIT;

    n.instance = own.instance;
    n.api_version = VK_API_VERSION_1_2;
    n.features = own.features;
    n.physical = own.physical;
    n.device = own.device;
    n.queue = own.queue;
    n.family = own.family;
    n.lock = lock;
    n.unlock = unlock;
    n.user = &own;
    return n;
}

static ssq_tensor *tensor_of(ssq_buffer *b)
{
    const int64_t n = N;
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &n, NULL, 0, &t));
    return t;
}

static void test_pipeline(void)
{
    const ssq_vulkan_native n = native();
    ssq_device *dev = NULL;
    ssq_buffer *x = NULL, *y = NULL;
    ssq_unary_args relu = SSQ_UNARY_INIT;
    int wrong = 0;

    core_status(ssq_vulkan_device_open(&n, NULL, &dev), SSQ_OK, NULL,
                "a device over the caller's");
    core_status(ssq_vulkan_buffer_import(dev, (uint64_t)own.x, BYTES, &x),
                SSQ_OK, NULL, "a buffer over the caller's");
    NEED(ssq_vulkan_buffer_import(dev, (uint64_t)own.y, BYTES, &y));
    tap_ok(ssq_buffer_bytes(x) == BYTES, "it has %llu bytes",
           (unsigned long long)ssq_buffer_bytes(x));
    ssq_queue *q = core_queue(dev);
    relu.x = tensor_of(x);
    relu.y = tensor_of(y);
    for (int i = 1; i <= 20; i++) {
        own_write((float)i);
        NEED(ssq_relu(q, &relu));
        NEED(ssq_queue_sync(q));
        own_done();
        own_read(own.y, 0);
        for (int k = 0; k < N; k++)
            wrong += own.map[k] != (k < N / 2 ? 0.0f : (float)i);
    }
    tap_ok(wrong == 0, "own fill, relu, own copy, in order: %d wrong", wrong);
    tap_ok(own.locks >= 20 && own.locks == own.unlocks,
           "the queue was locked %ld times, and unlocked %ld", own.locks,
           own.unlocks);
    ssq_tensor *tx = (ssq_tensor *)(uintptr_t)relu.x,
               *ty = (ssq_tensor *)(uintptr_t)relu.y;
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    ssq_buffer_destroy(&x);
    ssq_buffer_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    own_write(7);
    own_done();
    own_read(own.x, 0);
    tap_ok(own.map[0] == -1.5f && own.map[N - 1] == 7,
           "the caller's device and buffer outlive ours");
}

/* A tensor of ours under a command of the caller's. */
static void test_export(ssq_device *dev)
{
    ssq_queue *q = core_queue(dev);
    ssq_buffer *b = NULL, *empty = NULL;
    uint64_t buffer = 0, offset = 1;

    NEED(ssq_buffer_create(dev, BYTES, &b));
    NEED(ssq_buffer_create(dev, 0, &empty));
    ssq_tensor *t = tensor_of(b);
    NEED(ssq_vulkan_buffer_mem(b, &buffer, &offset));
    driver_fill(q, t, 21);
    NEED(ssq_queue_sync(q));
    own_read((VkBuffer)buffer, offset);
    tap_ok(own.map[0] == 21 && own.map[N - 1] == 21,
           "the caller reads a tensor of ours: %g", (double)own.map[N - 1]);
    core_status(ssq_vulkan_buffer_mem(empty, &buffer, &offset), SSQ_ERR_INVALID,
                "0 bytes", "the memory of a buffer of 0 bytes");
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_buffer_destroy(&empty);
    ssq_queue_destroy(&q);
}

/* The caller submits from its own thread, while ours work. */
static bool stop;

static void *submit_all_the_time(void *arg)
{
    long *n = arg;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        own_write((float)++*n);
        own_done();
    }
    return NULL;
}

static void test_two_threads(ssq_device *dev)
{
    pthread_t thread;
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    long n = 0;
    int wrong = 0;
    float out[N];

    if (pthread_create(&thread, NULL, submit_all_the_time, &n) != 0)
        tap_bail("no thread");
    for (int i = 0; i < 200; i++) {
        driver_fill(q, x, i);
        NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
        NEED(ssq_queue_sync(q));
        wrong += out[0] != (float)i || out[N - 1] != (float)i;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    tap_ok(wrong == 0 && n > 0,
           "200 fills, and %ld submissions of the caller's, %d wrong", n,
           wrong);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

static void test_misuse(ssq_device *dev)
{
    const ssq_vulkan_native good = native();
    ssq_vulkan_native n = good;
    ssq_device *reference = core_open("reference"), *d = NULL;
    ssq_buffer *b = NULL;
    uint64_t buffer, offset;

    core_status(ssq_vulkan_device_open(NULL, NULL, &d), SSQ_ERR_INVALID,
                "native is NULL", "no native");
    n.device = NULL;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_ERR_INVALID,
                "device is NULL", "a device of NULL");
    n = good;
    n.struct_size--;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_ERR_INVALID,
                "struct_size", "another struct_size");
    n = good;
    n.unlock = NULL;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_ERR_INVALID,
                "lock and unlock", "lock without unlock");
    n = good;
    n.family = 1000;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_ERR_INVALID,
                "1000|compute", "a family that is not there");
    n = good;
    n.api_version = VK_API_VERSION_1_0;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_ERR_INVALID, "1.1",
                "an instance of Vulkan 1.0");
    n.api_version = VK_API_VERSION_1_1;
    core_status(ssq_vulkan_device_open(&n, NULL, &d), SSQ_OK, NULL,
                "an instance of Vulkan 1.1, the least");
    ssq_device_close(&d);
    core_status(ssq_vulkan_buffer_import(reference, (uint64_t)own.x, 64, &b),
                SSQ_ERR_INVALID, "reference|vulkan", "a buffer on reference");
    core_status(ssq_vulkan_buffer_import(dev, 0, 64, &b), SSQ_ERR_INVALID, "0",
                "a buffer of 0");
    core_status(ssq_vulkan_buffer_import(dev, (uint64_t)own.x, UINT64_MAX, &b),
                SSQ_ERR_UNSUPPORTED, "18446744073709551615",
                "a buffer of 2^64 - 1 bytes");
    NEED(ssq_buffer_create(reference, 64, &b));
    core_status(ssq_vulkan_buffer_mem(b, &buffer, &offset), SSQ_ERR_INVALID,
                "reference", "the VkBuffer of reference's buffer");
    ssq_buffer_destroy(&b);
    tap_ok(d == NULL && b == NULL, "nothing was written");
    ssq_device_close(&reference);
}

int main(void)
{
    ssq_device *dev = NULL;

    if (driver_missing("vulkan"))
        return tap_done(0);
    own_open();
    const ssq_vulkan_native n = native();
    test_pipeline();
    NEED(ssq_vulkan_device_open(&n, NULL, &dev));
    test_export(dev);
    test_two_threads(dev);
    test_misuse(dev);
    ssq_device_close(&dev);
    own_close();
    return tap_done(21);
}
