/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory.c - a training program in which the driver's Nth allocation on
 * the host finds no memory, for every N up to 100, and then for some.
 *
 * All calls are lent callbacks, which count what the loader and the driver have
 * of them. A block is given back by who took it, on the device's own threads
 * too. */

#include "tests/vulkan/fake.h"

/* In front of a block. */
struct block {
    size_t bytes, room; /* room: from what malloc gave to the block */
};

static bool next_fails(void)
{
    if (fake_spared)
        return false;
    long n = __atomic_add_fetch(&fault.n, 1, __ATOMIC_RELAXED);
    if (n != fault.fail_at)
        return false;
    fault.hit = true;
    vk.refused = true;
    return true;
}

static VKAPI_ATTR void *VKAPI_CALL take(void *user, size_t bytes, size_t align,
                                        VkSystemAllocationScope scope)
{
    size_t room = align > sizeof(struct block) ? align : sizeof(struct block);
    void *p;

    (void)user;
    (void)scope;
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (next_fails() || posix_memalign(&p, align, room + bytes) != 0)
        return NULL;
    struct block *b = (struct block *)((char *)p + room) - 1;
    *b = (struct block){bytes, room};
    __atomic_add_fetch(&fault.blocks, 1, __ATOMIC_RELAXED);
    return b + 1;
}

static VKAPI_ATTR void VKAPI_CALL give_back(void *user, void *p)
{
    struct block *b = p;

    (void)user;
    if (p == NULL)
        return;
    __atomic_sub_fetch(&fault.blocks, 1, __ATOMIC_RELAXED);
    free((char *)p - b[-1].room);
}

static VKAPI_ATTR void *VKAPI_CALL again(void *user, void *p, size_t bytes,
                                         size_t align,
                                         VkSystemAllocationScope scope)
{
    const struct block *b = p;

    if (bytes == 0) {
        give_back(user, p);
        return NULL;
    }
    void *now = take(user, bytes, align, scope);
    if (now == NULL || p == NULL)
        return now;
    memcpy(now, p, b[-1].bytes < bytes ? b[-1].bytes : bytes);
    give_back(user, p);
    return now;
}

static struct faults_of allocations = {.device = "vulkan:0",
                                       .what = "allocations",
                                       .told = fake_told,
                                       .begin = fake_begin,
                                       .dense = 100,
                                       .stride = 17,
                                       .told_share = 4};

int main(void)
{
    static const VkAllocationCallbacks callbacks = {
        .pfnAllocation = take, .pfnReallocation = again, .pfnFree = give_back};
    ssq_device *dev = NULL;

    /* Mesa's layer that orders devices does not ask whether the driver has
     * found memory to list them (22.3), and crashes. */
    setenv("NODEVICE_SELECT", "1", 1);
    if (driver_missing("vulkan"))
        return tap_done(0);
    if (driver_from("vulkan:0", "Mesa ", 24)) {
        tap_skip("lavapipe of Mesa 25.0 runs commands that it had no memory to "
                 "record, and crashes",
                 "a host without memory");
        return tap_done(0);
    }
    if (tap_full())
        allocations.dense = LONG_MAX;
    fake_between();
    vk.callbacks = &callbacks;
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    faults_sweep(&allocations, "open", NULL, 0, stages_find("gemm: logits"));
    NEED(ssq_device_open("vulkan:0", NULL, &dev));
    faults_sweep(&allocations, "training", dev, 1, TRAINING_STAGES);
    ssq_device_close(&dev);
    tap_ok(fault.live == 0 && fault.blocks == 0,
           "in the end no object is left and no block, but %ld and %ld",
           fault.live, fault.blocks);
    return tap_done(11);
}
