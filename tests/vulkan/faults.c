/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a training program in which the Nth Vulkan call fails: with "no
 * memory" for every N, with other errors for the first ten and then every 13th
 * N. SSQ_TEST_FULL=1: for every N. */

#include "tests/vulkan/fake.h"

static struct faults_of calls = {.device = "vulkan:0",
                                 .what = "calls",
                                 .told = fake_told,
                                 .begin = fake_begin,
                                 .dense = LONG_MAX,
                                 .stride = 13,
                                 .told_share = 4};

static void sweeps(const char *how, VkResult result)
{
    ssq_device *dev = NULL;
    char what[64];

    vk.result = result;
    snprintf(what, sizeof(what), "open, %s", how);
    faults_sweep(&calls, what, NULL, 0, stages_find("gemm: logits"));
    NEED(ssq_device_open("vulkan:0", NULL, &dev));
    snprintf(what, sizeof(what), "training, %s", how);
    faults_sweep(&calls, what, dev, 1, TRAINING_STAGES);
    ssq_device_close(&dev);
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    fake_between();
    /* a submission is as large on a busy machine as on an idle one */
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    sweeps("no memory", VK_ERROR_OUT_OF_HOST_MEMORY);
    calls.dense = tap_full() ? LONG_MAX : 10;
    sweeps("failed", VK_ERROR_INITIALIZATION_FAILED);
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    sweeps("fences", VK_ERROR_OUT_OF_DEVICE_MEMORY);
    tap_ok(vk.foreign == 0, "no call came with allocation callbacks, but %ld",
           vk.foreign);
    tap_ok(fault.live == 0, "no object is left in the end, but %ld",
           fault.live);
    return tap_done(32);
}
