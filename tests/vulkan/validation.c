/* SPDX-License-Identifier: Apache-2.0 */
/* validation.c - what validation.sh runs under the validation layer.
 *
 * usage: validation layer    says whether the layer is in the process
 *        validation run      training, copies, graphs, events, several queues
 *        validation seed     the same launches without one barrier */

#include "backends/vulkan/calls.h"
#include "tests/api/stages.h"
#include "tests/core/queues.h"

#define N 4096

/* Loaded by the first instance, which exists while a device does. */
static int layer(void)
{
    char line[1024];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");

    if (f == NULL)
        return 1;
    while (fgets(line, sizeof(line), f) != NULL)
        found |= core_has(line, "VkLayer_khronos_validation");
    fclose(f);
    return found ? 0 : 1;
}

static void test_training(void)
{
    struct training p = {.name = "vulkan:0"};

    stages_run(&p, 0, TRAINING_STAGES - 1);
    tap_ok(p.state.updates == 4 && p.loss < 1.6f, "training ends with loss %g",
           (double)p.loss);
    training_close(&p);
}

/* Pieces of one buffer, to and fro, on an idle and on a busy queue. */
static void test_copies(ssq_device *dev)
{
    static unsigned char in[9 << 20], out[9 << 20];
    const int64_t n = sizeof(in) - 5;
    ssq_queue *q = core_queue(dev);
    ssq_buffer *b = NULL;
    ssq_tensor *t = NULL;

    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (unsigned char)(i * 7);
    NEED(ssq_buffer_create(dev, sizeof(in), &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_U8, 1, &n, NULL, 3, &t));
    for (int busy = 0; busy < 2; busy++) {
        if (busy)
            driver_fill(q, t, 1);
        NEED(ssq_tensor_write(q, t, in, sizeof(in), SSQ_U8));
        NEED(ssq_tensor_read(q, t, out, sizeof(out), SSQ_U8));
        NEED(ssq_queue_sync(q));
        tap_ok(memcmp(in, out, (size_t)n) == 0, "%lld bytes, queue %s",
               (long long)n, busy ? "busy" : "idle");
    }
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&q);
}

/* More than a submission has room for, with halves of one tensor in turn. */
static void test_many(ssq_device *dev)
{
    const int64_t half = N / 2;
    ssq_queue *q = core_queue(dev);
    ssq_buffer *b = NULL;
    ssq_tensor *low = NULL, *high = NULL, *all = NULL;
    const int64_t n = N;
    static float out[N];

    NEED(ssq_buffer_create(dev, N * sizeof(float), &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &half, NULL, 0, &low));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &half, NULL,
                                (uint64_t)half * sizeof(float), &high));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &n, NULL, 0, &all));
    for (int i = 0; i < 300; i++) {
        driver_fill(q, low, i);
        driver_copy(q, low, high);
    }
    NEED(ssq_tensor_read(q, all, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(out[0] == 299 && out[N - 1] == 299, "600 commands");
    ssq_tensor_destroy(&low);
    ssq_tensor_destroy(&high);
    ssq_tensor_destroy(&all);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&q);
}

static int run(void)
{
    ssq_device *dev;

    test_training();
    dev = core_open("vulkan:0");
    test_copies(dev);
    queues_hand_over(dev, "queues", 20);
    test_many(dev);
    ssq_device_close(&dev);
    return tap_done(8);
}

static PFN_vkCmdPipelineBarrier real_barrier;

/* Leave out all that order commands among themselves. */
static VKAPI_ATTR void VKAPI_CALL no_barrier(
    VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *m, uint32_t nb,
    const VkBufferMemoryBarrier *b, uint32_t ni, const VkImageMemoryBarrier *i)
{
    if (to == VK_PIPELINE_STAGE_HOST_BIT)
        real_barrier(c, from, to, f, n, m, nb, b, ni, i);
}

/* A copy of the memory filled just before. */
static int seed(void)
{
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");
    ssq_device *dev = core_open("vulkan:0");
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N),
               *y = core_vector(dev, SSQ_F32, N);

    real_barrier = table->CmdPipelineBarrier;
    table->CmdPipelineBarrier = no_barrier;
    driver_fill(q, x, 1);
    driver_copy(q, x, y);
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "run") == 0)
        return run();
    if (strcmp(what, "seed") == 0)
        return seed();
    if (strcmp(what, "layer") != 0)
        return 2;
    ssq_device *dev = core_open("vulkan:0");
    int there = layer();
    ssq_device_close(&dev);
    return there;
}
