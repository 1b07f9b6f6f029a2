/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - tests of vulkan's memory, batches, barriers and events: with
 * timelines, with fences, and with submissions as short as they get. */

#include <pthread.h>

#include "tests/api/training.h"
#include "tests/vulkan/table.h"

#define N       100000
#define THREADS 2

static struct {
    struct vulkan_calls real;
    PFN_vkWaitSemaphores wait;
    /* since they were set to 0 */
    long submits, waits, copies, barriers, updates, dispatches;
} vk;

static ssq_device *dev;
static const char *mode;
static bool brief; /* submissions are cut short */
static float in[N], out[N];

static VKAPI_ATTR VkResult VKAPI_CALL count_submit(VkQueue q, uint32_t n,
                                                   const VkSubmitInfo *i,
                                                   VkFence f)
{
    vk.submits += n;
    return vk.real.QueueSubmit(q, n, i, f);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_wait(VkDevice d,
                                                 const VkSemaphoreWaitInfo *i,
                                                 uint64_t timeout)
{
    vk.waits++;
    return vk.wait(d, i, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_idle(VkQueue q)
{
    vk.waits++;
    return vk.real.QueueWaitIdle(q);
}

static VKAPI_ATTR void VKAPI_CALL count_copy(VkCommandBuffer c, VkBuffer a,
                                             VkBuffer b, uint32_t n,
                                             const VkBufferCopy *parts)
{
    vk.copies++;
    vk.real.CmdCopyBuffer(c, a, b, n, parts);
}

/* Those between commands: not the one for the host at a batch's end. */
static VKAPI_ATTR void VKAPI_CALL count_barrier(
    VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *m, uint32_t nb,
    const VkBufferMemoryBarrier *b, uint32_t ni, const VkImageMemoryBarrier *i)
{
    vk.barriers += to != VK_PIPELINE_STAGE_HOST_BIT;
    vk.real.CmdPipelineBarrier(c, from, to, f, n, m, nb, b, ni, i);
}

static VKAPI_ATTR void VKAPI_CALL count_update(VkDevice d, uint32_t n,
                                               const VkWriteDescriptorSet *w,
                                               uint32_t nc,
                                               const VkCopyDescriptorSet *c)
{
    vk.updates += w->descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    vk.real.UpdateDescriptorSets(d, n, w, nc, c);
}

static VKAPI_ATTR void VKAPI_CALL count_dispatch(VkCommandBuffer c, uint32_t x,
                                                 uint32_t y, uint32_t z)
{
    vk.dispatches++;
    vk.real.CmdDispatch(c, x, y, z);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL by_name(VkDevice device,
                                                        const char *name)
{
    PFN_vkVoidFunction real = vk.real.GetDeviceProcAddr(device, name);

    if (real == NULL || strncmp(name, "vkWaitSemaphores", 16) != 0)
        return real;
    vk.wait = (PFN_vkWaitSemaphores)real;
    return (PFN_vkVoidFunction)count_wait;
}

static void stand_between(void)
{
    struct vulkan_calls *table = vulkan_table();

    vk.real = *table;
    table->QueueSubmit = count_submit;
    table->QueueWaitIdle = count_idle;
    table->CmdCopyBuffer = count_copy;
    table->CmdPipelineBarrier = count_barrier;
    table->UpdateDescriptorSets = count_update;
    table->CmdDispatch = count_dispatch;
    table->GetDeviceProcAddr = by_name;
}

static void start_counting(void)
{
    vk.submits = vk.waits = vk.copies = vk.barriers = 0;
    vk.updates = vk.dispatches = 0;
}

/* ---- memory ---- */

static void test_memory(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    bool unified;

    start_counting();
    NEED(ssq_tensor_write(q, x, in, SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(memcmp(in, out, sizeof(in)) == 0,
           "%s: %d float32s come back as they went", mode, N);
    unified = vk.copies == 0;
    tap_diag("memory of the device is %s the host's", unified ? "" : "not");
    tap_ok(unified ? vk.submits == 0 : vk.submits == 1,
           "%s: by %ld copies and %ld submissions", mode, vk.copies,
           vk.submits);

    start_counting(); /* behind something that may still run */
    vulkan_fill(q, x, 1);
    memset(out, 0, sizeof(out));
    NEED(ssq_tensor_write(q, x, in, SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, SSQ_F32));
    tap_ok(vk.copies == 2 && vk.waits == 0,
           "%s: a busy queue copies later: %ld copies, %ld waits", mode,
           vk.copies, vk.waits);
    NEED(ssq_queue_sync(q));
    tap_ok(memcmp(in, out, sizeof(in)) == 0 && vk.submits <= 2,
           "%s: in order, in %ld submissions", mode, vk.submits);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* More than all staging memory of a queue, from and to odd bytes. */
static void test_large(bool busy)
{
    const int64_t bytes = (41 << 20) + 13, offset = 7;
    unsigned char *from = malloc((size_t)bytes + 2),
                  *to = calloc((size_t)bytes + 2, 1);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *t = NULL, *x = core_vector(dev, SSQ_F32, N);
    ssq_buffer *b = NULL;

    if (from == NULL || to == NULL)
        tap_bail("no memory");
    for (int64_t i = 0; i < bytes + 2; i++)
        from[i] = (unsigned char)(i * 251 >> 3);
    NEED(ssq_buffer_create(dev, (uint64_t)(bytes + 64), &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_U8, 1, &bytes, NULL, offset, &t));
    if (busy)
        vulkan_fill(q, x, 1);
    NEED(ssq_tensor_write(q, t, from + 1, SSQ_U8));
    if (busy)
        vulkan_fill(q, x, 2);
    NEED(ssq_tensor_read(q, t, to + 1, SSQ_U8));
    NEED(ssq_queue_sync(q));
    tap_ok(to[0] == 0 && to[bytes + 1] == 0 &&
               memcmp(from + 1, to + 1, (size_t)bytes) == 0,
           "%s: %lld bytes at an odd place, %s queue", mode, (long long)bytes,
           busy ? "a busy" : "an idle");
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&q);
    free(from);
    free(to);
}

static void test_too_large(void)
{
    ssq_buffer *b = NULL;

    core_status(ssq_buffer_create(dev, UINT64_C(1) << 60, &b), SSQ_ERR_NOMEM,
                "vulkan|1152921504606846976", "%s: a buffer of 2^60 bytes",
                mode);
}

/* ---- batches ---- */

/* More commands than a batch holds, and than all batches, none waited for; the
 * tensors are gone before their work is done. */
static void test_many(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *last = core_vector(dev, SSQ_F32, N);

    start_counting();
    vulkan_fill(q, last, 0);
    for (int i = 1; i <= 1500; i++) {
        ssq_tensor *x = core_vector(dev, SSQ_F32, 100);

        vulkan_fill(q, x, i);
        vulkan_fill(q, last, i);
        ssq_tensor_destroy(&x);
    }
    NEED(ssq_tensor_read(q, last, out, SSQ_F32));
    while (ssq_queue_status(q) == SSQ_ERR_NOT_READY)
        continue;
    core_status(ssq_queue_status(q), SSQ_OK, NULL,
                "%s: 3002 commands finish, by asking alone", mode);
    tap_ok(out[0] == 1500 && out[N - 1] == 1500,
           "%s: in order: the last of 1500 fills is seen, not %g", mode,
           (double)out[0]);
    tap_diag("%ld dispatches, %ld submissions", vk.dispatches, vk.submits);
    tap_ok(vk.submits > 3001 / 256 && vk.dispatches == 3001,
           "%s: in batches, %ld of them", mode, vk.submits);
    ssq_tensor_destroy(&last);
    ssq_queue_destroy(&q);
}

/* Each event submits: more batches than a queue has. */
static void test_batches(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_event *e[40] = {NULL};
    int early = 0, missed = 0;

    for (int i = 0; i < 40; i++) {
        vulkan_fill(q, x, i);
        NEED(ssq_event_create(dev, &e[i]));
        NEED(ssq_event_record(e[i], q));
    }
    NEED(ssq_tensor_read(q, x, out, SSQ_F32));
    for (int i = 40; i-- > 0;) {
        ssq_status st = ssq_event_query(e[i]);

        early += st == SSQ_OK && i > 0 && ssq_event_query(e[i - 1]) != SSQ_OK;
        missed += st != SSQ_OK && st != SSQ_ERR_NOT_READY;
    }
    tap_ok(early == 0 && missed == 0,
           "%s: 40 events are reached in order, %d not, %d failed", mode, early,
           missed);
    NEED(ssq_event_sync(e[39]));
    tap_ok(ssq_event_query(e[0]) == SSQ_OK,
           "%s: behind the last event there is the first", mode);
    NEED(ssq_queue_sync(q));
    tap_ok(out[N / 2] == 39, "%s: and all 40 fills: %g", mode,
           (double)out[N / 2]);
    for (int i = 0; i < 40; i++)
        ssq_event_destroy(&e[i]);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

static void test_barriers(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x[4];

    for (int i = 0; i < 4; i++)
        x[i] = core_vector(dev, SSQ_F32, N);
    start_counting();
    for (int i = 0; i < 4; i++)
        vulkan_fill(q, x[i], i);
    tap_ok(vk.barriers == 0, "%s: no barrier between four tensors' fills: %ld",
           mode, vk.barriers);
    vulkan_copy(q, x[0], x[1]);
    vulkan_copy(q, x[0], x[2]);
    tap_ok(vk.barriers == 1, "%s: one before two copies of one: %ld", mode,
           vk.barriers);
    vulkan_copy(q, x[3], x[0]);
    tap_ok(vk.barriers == 2, "%s: one before what was read is written: %ld",
           mode, vk.barriers);
    NEED(ssq_queue_sync(q));
    vulkan_copy(q, x[1], x[2]);
    tap_ok(vk.barriers == 2, "%s: none for what has not changed since: %ld",
           mode, vk.barriers);
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < 4; i++)
        ssq_tensor_destroy(&x[i]);
    ssq_queue_destroy(&q);
}

/* ---- events ---- */

static void test_events(void)
{
    ssq_queue *one = core_queue(dev), *two = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N),
               *y = core_vector(dev, SSQ_F32, N);
    ssq_event *begin = NULL, *filled = NULL, *copied = NULL;
    double seconds = -1, back = 0;
    int wrong = 0;

    NEED(ssq_event_create(dev, &begin));
    NEED(ssq_event_create(dev, &filled));
    NEED(ssq_event_create(dev, &copied));
    NEED(ssq_event_record(begin, one));
    NEED(ssq_event_record(copied, two));
    for (int i = 1; i <= 100; i++) {
        NEED(ssq_queue_wait(one, copied));
        vulkan_fill(one, x, i);
        NEED(ssq_event_record(filled, one));
        NEED(ssq_queue_wait(two, filled));
        vulkan_copy(two, x, y);
        NEED(ssq_tensor_read(two, y, out, SSQ_F32));
        NEED(ssq_event_record(copied, two));
        if (i % 10 == 0) {
            NEED(ssq_event_sync(copied));
            wrong += out[0] != (float)i || out[N - 1] != (float)i;
        }
    }
    tap_ok(wrong == 0, "%s: two queues hand 100 fills over by events, %d wrong",
           mode, wrong);
    core_status(ssq_event_query(copied), SSQ_OK, NULL,
                "%s: an event that was waited for is reached", mode);
    core_status(ssq_event_elapsed(begin, filled, &seconds), SSQ_OK, NULL,
                "%s: the time between the first and the last is known", mode);
    NEED(ssq_event_elapsed(filled, begin, &back));
    tap_ok(seconds > 0 && seconds < 60 && back == -seconds,
           "%s: it is %g seconds, and back %g", mode, seconds, back);
    ssq_event_destroy(&begin);
    ssq_event_destroy(&filled);
    ssq_event_destroy(&copied);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&one);
    ssq_queue_destroy(&two);
}

/* One queue that waits for more events than a submission does. */
static void test_fan_in(void)
{
    ssq_queue *q[12], *sum = core_queue(dev);
    ssq_tensor *x[12], *y = core_vector(dev, SSQ_F32, N);
    ssq_event *e[12] = {NULL};
    int wrong = 0;

    for (int i = 0; i < 12; i++) {
        q[i] = core_queue(dev);
        x[i] = core_vector(dev, SSQ_F32, N);
        vulkan_fill(q[i], x[i], 2 * i);
        vulkan_fill(q[i], x[i], i);
        NEED(ssq_event_create(dev, &e[i]));
        NEED(ssq_event_record(e[i], q[i]));
    }
    for (int i = 0; i < 12; i++)
        NEED(ssq_queue_wait(sum, e[i]));
    for (int i = 0; i < 12; i++) {
        vulkan_copy(sum, x[i], y);
        NEED(ssq_tensor_read(sum, y, out, SSQ_F32));
        NEED(ssq_queue_sync(sum));
        wrong += out[0] != (float)i || out[N - 1] != (float)i;
    }
    tap_ok(wrong == 0, "%s: a queue waits for 12 others, %d wrong", mode,
           wrong);
    for (int i = 0; i < 12; i++) {
        ssq_event_destroy(&e[i]);
        ssq_tensor_destroy(&x[i]);
        ssq_queue_destroy(&q[i]);
    }
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&sum);
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    ssq_device *dev; /* NULL: opens one of its own */
    int seed, wrong;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    ssq_device *d = w->dev != NULL ? w->dev : core_open("vulkan:0");
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = core_vector(d, SSQ_F32, 1000),
               *y = core_vector(d, SSQ_F16, 1000);
    float value[1000] = {0};

    for (int i = 0; i < 100; i++) {
        float want = (float)(100 * w->seed + i);

        vulkan_fill(q, x, want);
        vulkan_fill(q, y, want + 1);
        NEED(ssq_tensor_read(q, x, value, SSQ_F32));
        NEED(ssq_queue_sync(q));
        w->wrong += value[0] != want || value[999] != want;
        NEED(ssq_tensor_read(q, y, value, SSQ_F32));
        NEED(ssq_queue_sync(q));
        w->wrong += value[0] != want + 1 || value[999] != want + 1;
    }
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
    if (w->dev == NULL)
        ssq_device_close(&d);
    return NULL;
}

/* The same kernels from two threads at once, made by whoever is first. */
static int run_threads(ssq_device *shared)
{
    struct worker w[THREADS];
    int wrong = 0;

    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.dev = shared, .seed = i};
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            tap_bail("no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        wrong += w[i].wrong;
    }
    return wrong;
}

/* Asks how far a queue has come, while another thread works with it. */
struct watcher {
    pthread_t thread;
    ssq_queue *q;
    int asked, wrong;
    bool done;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;

    while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
        ssq_status st = ssq_queue_status(w->q);

        w->wrong += st != SSQ_OK && st != SSQ_ERR_NOT_READY;
        w->asked++;
        ssq_device_trim(dev);
    }
    return NULL;
}

static void test_watched(void)
{
    struct watcher w = {.q = core_queue(dev)};
    ssq_tensor *x = core_vector(dev, SSQ_F32, 1000);
    float value[1000] = {0};
    int wrong = 0;

    if (pthread_create(&w.thread, NULL, watch, &w) != 0)
        tap_bail("no thread");
    for (int i = 0; i < 500; i++) {
        vulkan_fill(w.q, x, i);
        NEED(ssq_tensor_read(w.q, x, value, SSQ_F32));
        if (i % 10 == 9) {
            NEED(ssq_queue_sync(w.q));
            wrong += value[0] != (float)i || value[999] != (float)i;
        }
    }
    __atomic_store_n(&w.done, true, __ATOMIC_RELEASE);
    pthread_join(w.thread, NULL);
    tap_ok(wrong == 0 && w.wrong == 0 && w.asked > 0,
           "%s: a queue is asked %d times from another thread, %d wrong", mode,
           w.asked, wrong + w.wrong);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&w.q);
}

/* ---- a training step ---- */

static size_t stage_named(const char *name)
{
    for (size_t i = 0; i < TRAINING_STAGES; i++)
        if (strcmp(training_stages[i].name, name) == 0)
            return i;
    tap_bail("no stage %s", name);
    return 0;
}

static void run_stages(struct training *p, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        ssq_status st = training_stages[i].run(p);

        if (st != SSQ_OK && st != SSQ_ERR_NOT_READY)
            tap_bail("%s: %s", training_stages[i].name, ssq_last_error());
    }
}

/* A step with its inputs, again and again; then as a graph. */
static void test_step(void)
{
    struct training p = {.name = "vulkan:0"};
    const size_t poll = stage_named("scaler_poll"),
                 begin = stage_named("graph_begin");
    long most = 0, waits = 0;

    run_stages(&p, 0, poll);
    NEED(ssq_queue_sync(p.q));
    for (int i = 0; i < 10; i++) {
        NEED(ssq_queue_sync(p.q)); /* a processor lags behind its own orders */
        start_counting();
        p.written = 0;
        NEED(training_write(&p));
        run_stages(&p, poll, begin - 1);
        most = vk.submits > most ? vk.submits : most;
        waits += vk.waits;
    }
    NEED(ssq_queue_sync(p.q));
    tap_ok((waits == 0 && most <= 2) || brief,
           "%s: a training step takes %ld submissions at most, and %ld waits",
           mode, most, waits);

    run_stages(&p, begin, stage_named("graph_launch"));
    NEED(ssq_queue_sync(p.q));
    start_counting();
    for (int i = 0; i < 4; i++)
        NEED(training_launch(&p));
    tap_ok((vk.submits <= 8 || brief) && (vk.waits == 0 || brief) &&
               vk.updates == 0 && vk.dispatches == 0,
           "%s: a graph's launch records nothing anew: %ld dispatches, %ld "
           "descriptors; %ld submissions of 4",
           mode, vk.dispatches, vk.updates, vk.submits);
    run_stages(&p, stage_named("tensor_read"), TRAINING_STAGES - 1);
    training_close(&p);
}

static void test_all(const char *name)
{
    mode = name;
    dev = core_open("vulkan:0");
    test_memory();
    test_large(false);
    test_large(true);
    test_too_large();
    test_many();
    test_batches();
    test_barriers();
    test_events();
    test_fan_in();
    test_watched();
    tap_ok(run_threads(dev) == 0, "%s: two threads share a device", mode);
    test_step();
    ssq_device_close(&dev);
}

int main(void)
{
    if (vulkan_missing())
        return tap_done(0);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    stand_between();
    tap_ok(run_threads(NULL) == 0, "two threads, each with its own device");
    /* what a loaded machine does with the others has no part in it */
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    test_all("timelines");
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    test_all("fences");
    unsetenv("SSQ_VULKAN_TIMELINE");
    setenv("SSQ_VULKAN_SUBMIT_MS", "1", 1);
    brief = true;
    test_all("1 ms");
    return tap_done(60);
}
