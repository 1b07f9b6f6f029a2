/* SPDX-License-Identifier: Apache-2.0 */
/* validation.c - what validation.sh runs under the validation layer.
 *
 * usage: validation layer    says whether the layer is in the process
 *        validation run      training, copies, graphs, events, several queues
 *        validation seed     the same launches without one barrier */

#include "tests/api/training.h"
#include "tests/vulkan/table.h"

#define N 4096

/* Loaded by the first instance, which is there while a device is. */
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

    for (size_t i = 0; i < TRAINING_STAGES; i++) {
        ssq_status st = training_stages[i].run(&p);

        if (st != SSQ_OK && st != SSQ_ERR_NOT_READY)
            tap_bail("%s: %s", training_stages[i].name, ssq_last_error());
    }
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
            vulkan_fill(q, t, 1);
        NEED(ssq_tensor_write(q, t, in, SSQ_U8));
        NEED(ssq_tensor_read(q, t, out, SSQ_U8));
        NEED(ssq_queue_sync(q));
        tap_ok(memcmp(in, out, (size_t)n) == 0, "%lld bytes, queue %s",
               (long long)n, busy ? "busy" : "idle");
    }
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&q);
}

/* What one queue fills another copies, in turn. */
static void test_queues(ssq_device *dev)
{
    ssq_queue *one = core_queue(dev), *two = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N),
               *y = core_vector(dev, SSQ_F32, N);
    ssq_event *filled = NULL, *copied = NULL;
    static float out[N];

    NEED(ssq_event_create(dev, &filled));
    NEED(ssq_event_create(dev, &copied));
    NEED(ssq_event_record(copied, two));
    for (int i = 1; i <= 20; i++) {
        NEED(ssq_queue_wait(one, copied));
        vulkan_fill(one, x, i);
        NEED(ssq_event_record(filled, one));
        NEED(ssq_queue_wait(two, filled));
        vulkan_copy(two, x, y);
        NEED(ssq_tensor_read(two, y, out, SSQ_F32));
        NEED(ssq_event_record(copied, two));
    }
    NEED(ssq_event_sync(copied));
    tap_ok(out[0] == 20 && out[N - 1] == 20, "two queues hand over");
    ssq_event_destroy(&filled);
    ssq_event_destroy(&copied);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&one);
    ssq_queue_destroy(&two);
}

/* More than a batch has room for, with halves of one tensor in turn. */
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
        vulkan_fill(q, low, i);
        vulkan_copy(q, low, high);
    }
    NEED(ssq_tensor_read(q, all, out, SSQ_F32));
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
    test_queues(dev);
    test_many(dev);
    ssq_device_close(&dev);
    return tap_done(5);
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

/* A copy of what was filled just before. */
static int seed(void)
{
    struct vulkan_calls *table = vulkan_table();
    ssq_device *dev = core_open("vulkan:0");
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N),
               *y = core_vector(dev, SSQ_F32, N);

    real_barrier = table->CmdPipelineBarrier;
    table->CmdPipelineBarrier = no_barrier;
    vulkan_fill(q, x, 1);
    vulkan_copy(q, x, y);
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
