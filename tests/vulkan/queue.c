/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - tests of vulkan's submissions, barriers and events: with timelines,
 * with fences, and with submissions as short as they get. */

#include <sched.h>

#include <sesqui/vulkan.h>

#include "tests/api/stages.h"
#include "tests/core/queues.h"
#include "tests/vulkan/count.h"

#define N    100000
#define MANY 20000 /* elements: a fill takes longer than its enqueuing */

static ssq_device *dev;
static const char *mode;
static bool brief; /* submissions are cut short */
static float out[N];

/* ---- submissions ---- */

/* More commands than a submission holds, and than all submissions, none waited
 * for; the tensors are gone before their work is done. */
static void test_many(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *last = core_vector(dev, SSQ_F32, MANY);

    count_begin();
    driver_fill(q, last, 0);
    for (int i = 1; i <= 1500; i++) {
        ssq_tensor *x = core_vector(dev, SSQ_F32, 100);

        driver_fill(q, x, i);
        driver_fill(q, last, i);
        ssq_tensor_destroy(&x);
    }
    NEED(ssq_tensor_read(q, last, out, MANY * sizeof(*out), SSQ_F32));
    while (ssq_queue_status(q) == SSQ_ERR_NOT_READY)
        continue;
    core_status(ssq_queue_status(q), SSQ_OK, NULL,
                "%s: 3002 commands finish, by asking alone", mode);
    tap_ok(out[0] == 1500 && out[MANY - 1] == 1500,
           "%s: in order: the last of 1500 fills is seen, not %g", mode,
           (double)out[0]);
    tap_diag("%ld dispatches, %ld submissions", vk.dispatches, vk.submits);
    tap_ok(vk.submits > 3001 / 256 && vk.dispatches == 3001,
           "%s: in submissions, %ld of them", mode, vk.submits);
    ssq_tensor_destroy(&last);
    ssq_queue_destroy(&q);
}

/* Each event submits: more submissions than a queue has. */
static void test_submissions(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_event *e[40] = {NULL};
    int early = 0, missed = 0;

    for (int i = 0; i < 40; i++) {
        driver_fill(q, x, i);
        NEED(ssq_event_create(dev, &e[i]));
        NEED(ssq_event_record(e[i], q));
    }
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
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

/* Two buffers of the library over one of Vulkan's are one to the device. */
static void test_imported_twice(void)
{
    const int64_t n = N;
    ssq_queue *q = core_queue(dev);
    ssq_buffer *own = NULL, *twin[2];
    ssq_tensor *x[2], *part[2] = {NULL, NULL};
    uint64_t native = 0, offset = 0;

    NEED(ssq_buffer_create(dev, N * sizeof(float), &own));
    NEED(ssq_vulkan_buffer_mem(own, &native, &offset));
    for (int i = 0; i < 2; i++) {
        NEED(ssq_vulkan_buffer_import(dev, native, offset + N * sizeof(float),
                                      &twin[i]));
        NEED(ssq_tensor_from_buffer(twin[i], SSQ_F32, 1, &n, NULL, offset,
                                    &x[i]));
    }
    count_begin();
    driver_fill(q, x[0], 1);
    driver_fill(q, x[1], 2);
    tap_ok(vk.barriers == 1,
           "%s: one between fills of what is imported twice: "
           "%ld",
           mode, vk.barriers);
    NEED(ssq_queue_sync(q));
    /* the two share memory, also for the check of operands */
    NEED(ssq_tensor_slice(x[0], 0, 0, n - 1, 1, &part[0]));
    NEED(ssq_tensor_slice(x[1], 0, 1, n, 1, &part[1]));
    core_status(ssq_copy(q, SSQ_COPY(.x = part[0], .y = part[1])),
                SSQ_ERR_INVALID, "overlap",
                "%s: a copy within what is imported twice", mode);
    for (int i = 0; i < 2; i++) {
        ssq_tensor_destroy(&part[i]);
        ssq_tensor_destroy(&x[i]);
        ssq_buffer_destroy(&twin[i]);
    }
    ssq_buffer_destroy(&own);
    ssq_queue_destroy(&q);
}

static void test_barriers(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x[4];

    for (int i = 0; i < 4; i++)
        x[i] = core_vector(dev, SSQ_F32, N);
    count_compiled(dev);
    count_begin();
    for (int i = 0; i < 4; i++)
        driver_fill(q, x[i], i);
    tap_ok(vk.barriers == 0, "%s: no barrier between four tensors' fills: %ld",
           mode, vk.barriers);
    driver_copy(q, x[0], x[1]);
    driver_copy(q, x[0], x[2]);
    tap_ok(vk.barriers == 1, "%s: one before two copies of one: %ld", mode,
           vk.barriers);
    driver_copy(q, x[3], x[0]);
    tap_ok(vk.barriers == 2, "%s: one before what was read is written: %ld",
           mode, vk.barriers);
    NEED(ssq_queue_sync(q));
    driver_copy(q, x[1], x[2]);
    tap_ok(vk.barriers == 2, "%s: none for what has not changed since: %ld",
           mode, vk.barriers);
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < 4; i++)
        ssq_tensor_destroy(&x[i]);
    ssq_queue_destroy(&q);
}

/* ---- events ---- */

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
        driver_fill(q[i], x[i], 2 * i);
        driver_fill(q[i], x[i], i);
        NEED(ssq_event_create(dev, &e[i]));
        NEED(ssq_event_record(e[i], q[i]));
    }
    for (int i = 0; i < 12; i++)
        NEED(ssq_queue_wait(sum, e[i]));
    for (int i = 0; i < 12; i++) {
        driver_copy(sum, x[i], y);
        NEED(ssq_tensor_read(sum, y, out, sizeof(out), SSQ_F32));
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

/* lavapipe 22.3 looks at a timeline once more when a submission that waited for
 * it has run: it is gone after a vkQueueWaitIdle only. */
static void test_release(void)
{
    const bool timelines = getenv("SSQ_VULKAN_TIMELINE") == NULL;
    ssq_queue *one = core_queue(dev), *two = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_event *e = NULL;

    driver_fill(one, x, 1);
    NEED(ssq_event_create(dev, &e));
    NEED(ssq_event_record(e, one));
    NEED(ssq_queue_wait(two, e));
    driver_fill(two, x, 2);
    NEED(ssq_queue_sync(two));
    ssq_event_destroy(&e);
    count_begin();
    ssq_queue_destroy(&one);
    tap_ok(vk.idles == timelines,
           "%s: a queue that another waited for goes behind all work: %ld",
           mode, vk.idles);
    count_begin();
    ssq_queue_destroy(&two);
    tap_ok(vk.idles == 0, "%s: the other does not: %ld", mode, vk.idles);
    ssq_tensor_destroy(&x);
}

/* ---- threads ---- */

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
        __atomic_add_fetch(&w->asked, 1, __ATOMIC_RELEASE);
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
    while (__atomic_load_n(&w.asked, __ATOMIC_ACQUIRE) == 0)
        sched_yield(); /* a busy machine may start it late */
    for (int i = 0; i < 500; i++) {
        driver_fill(w.q, x, i);
        NEED(ssq_tensor_read(w.q, x, value, sizeof(value), SSQ_F32));
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

/* A step with its inputs, again and again; then as a graph. */
static void test_step(void)
{
    struct training p = {.name = "vulkan:0"};
    const size_t poll = stages_find("scaler_poll"),
                 begin = stages_find("graph_begin");
    long most = 0, waits = 0;

    stages_run(&p, 0, poll);
    /* each launch of a graph records the work of coopmat again */
    NEED(ssq_implementation_pin(p.dev, "gemm", "tiled"));
    NEED(ssq_queue_sync(p.q));
    for (int i = 0; i < 10; i++) {
        NEED(ssq_queue_sync(p.q)); /* a processor lags behind its own orders */
        count_begin();
        p.written = 0;
        NEED(training_write(&p));
        stages_run(&p, poll, begin - 1);
        most = vk.submits > most ? vk.submits : most;
        waits += vk.waits;
    }
    NEED(ssq_queue_sync(p.q));
    tap_ok((waits == 0 && most <= 2) || brief,
           "%s: a training step takes %ld submissions at most, and %ld waits",
           mode, most, waits);

    stages_run(&p, begin, stages_find("graph_launch"));
    NEED(ssq_queue_sync(p.q));
    count_begin();
    for (int i = 0; i < 4; i++)
        NEED(training_launch(&p));
    tap_ok((vk.submits <= 8 && vk.waits == 0 && vk.updates == 0 &&
            vk.dispatches == 0) ||
               brief,
           "%s: a graph's launch records nothing anew: %ld dispatches, %ld "
           "descriptors; %ld submissions of 4",
           mode, vk.dispatches, vk.updates, vk.submits);
    stages_run(&p, stages_find("tensor_read"), TRAINING_STAGES - 1);
    training_close(&p);
}

/* A graph whose launches take longer than a submission may, once that is
 * known: they are submitted one by one. */
static void test_slow_graph(void)
{
    enum { FILLS = 12 };
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, 1 << 20);
    ssq_graph *g = NULL;
    ssq_tensor *first = NULL;

    NEED(ssq_graph_begin(q));
    for (int i = 1; i <= FILLS; i++)
        driver_fill(q, x, i);
    NEED(ssq_graph_end(q, &g));
    double began = tap_seconds();
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_queue_sync(q));
    /* a launch of a fast device takes less than the 1 ms of a submission */
    bool slow = tap_seconds() - began > 2e-3 * FILLS;
    count_begin();
    driver_fill(q, x, 0);
    NEED(ssq_graph_launch(q, g));
    tap_ok(!slow || (vk.dispatches == 1 + FILLS && vk.submits >= FILLS / 2),
           "%s: a graph of %d %s launches takes %ld submissions", mode, FILLS,
           slow ? "slow" : "fast", vk.submits);
    NEED(ssq_tensor_slice(x, 0, 0, 1, 1, &first));
    NEED(ssq_tensor_read(q, first, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(out[0] == FILLS, "%s: in order, %g last", mode, (double)out[0]);
    ssq_tensor_destroy(&first);
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

static void test_all(const char *name)
{
    mode = name;
    dev = core_open("vulkan:0");
    test_many();
    test_submissions();
    test_barriers();
    test_imported_twice();
    queues_hand_over(dev, mode, 100);
    test_fan_in();
    test_release();
    test_watched();
    queues_of_threads(mode, NULL, dev);
    if (!brief || tap_full())
        test_step();
    ssq_device_close(&dev);
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    count_between();
    queues_of_threads("timelines", "vulkan:0", NULL);
    /* the load of other processors has no effect */
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    test_all("timelines");
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    test_all("fences");
    unsetenv("SSQ_VULKAN_TIMELINE");
    setenv("SSQ_VULKAN_SUBMIT_MS", "1", 1);
    brief = true;
    dev = core_open("vulkan:0");
    mode = "1 ms";
    test_slow_graph();
    ssq_device_close(&dev);
    test_all("1 ms");
    return tap_done(tap_full() ? 72 : 70);
}
