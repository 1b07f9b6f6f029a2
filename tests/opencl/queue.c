/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - tests of opencl's memory, queues and events. */

#include <pthread.h>

#include "tests/opencl/opencl.h"

#define N       100000
#define THREADS 2

static ssq_device *dev;
static float in[N], out[N];

static bool same(const float *x, const float *y)
{
    return memcmp(x, y, sizeof(in)) == 0;
}

static void test_memory(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    ssq_buffer *b = NULL;

    NEED(ssq_device_props_get(dev, &p));
    NEED(ssq_tensor_write(q, x, in, SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(same(in, out), "%d float32s come back as they went", N);
    core_status(ssq_buffer_create(dev, p.binding_bytes + 1, &b), SSQ_ERR_NOMEM,
                "opencl", "a buffer of %llu bytes, one too many",
                (unsigned long long)p.binding_bytes + 1);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* More commands than the queue's first ring holds, none waited for; the
 * tensors are gone before their work is done. */
static void test_many(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *last = core_vector(dev, SSQ_F32, N);

    opencl_fill(q, last, 0);
    for (int i = 1; i <= 1000; i++) {
        ssq_tensor *x = core_vector(dev, SSQ_F32, N);

        opencl_fill(q, x, i);
        opencl_copy(q, x, last);
        ssq_tensor_destroy(&x);
    }
    NEED(ssq_tensor_read(q, last, out, SSQ_F32));
    while (ssq_queue_status(q) == SSQ_ERR_NOT_READY)
        continue;
    core_status(ssq_queue_status(q), SSQ_OK, NULL,
                "2002 commands finish, by asking alone");
    tap_ok(out[0] == 1000 && out[N - 1] == 1000,
           "in order: the last of 1000 fills is seen, not %g", out[0]);
    ssq_tensor_destroy(&last);
    ssq_queue_destroy(&q);
}

static void test_events(void)
{
    ssq_queue *one = core_queue(dev), *two = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N),
               *y = core_vector(dev, SSQ_F32, N);
    ssq_event *begin = NULL, *filled = NULL, *copied = NULL;
    double seconds = -1;
    int wrong = 0;

    NEED(ssq_event_create(dev, &begin));
    NEED(ssq_event_create(dev, &filled));
    NEED(ssq_event_create(dev, &copied));
    NEED(ssq_event_record(begin, one));
    NEED(ssq_event_record(copied, two));
    for (int i = 1; i <= 100; i++) {
        NEED(ssq_queue_wait(one, copied));
        opencl_fill(one, x, i);
        NEED(ssq_event_record(filled, one));
        NEED(ssq_queue_wait(two, filled));
        opencl_copy(two, x, y);
        NEED(ssq_tensor_read(two, y, out, SSQ_F32));
        NEED(ssq_event_record(copied, two));
        if (i % 10 == 0) {
            NEED(ssq_event_sync(copied));
            wrong += out[0] != (float)i || out[N - 1] != (float)i;
        }
    }
    tap_ok(wrong == 0, "two queues hand 100 fills over by events, %d wrong",
           wrong);
    core_status(ssq_event_query(copied), SSQ_OK, NULL,
                "an event that was waited for is reached");
    core_status(ssq_event_elapsed(begin, filled, &seconds), SSQ_OK, NULL,
                "the time between the first and the last is known");
    tap_ok(seconds > 0 && seconds < 60, "it is %g seconds", seconds);
    ssq_event_destroy(&begin);
    ssq_event_destroy(&filled);
    ssq_event_destroy(&copied);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&one);
    ssq_queue_destroy(&two);
}

struct worker {
    pthread_t thread;
    ssq_device *dev; /* NULL: opens one of its own */
    int seed, wrong;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    ssq_device *d = w->dev != NULL ? w->dev : core_open("opencl:0");
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = core_vector(d, SSQ_F32, 1000),
               *y = core_vector(d, SSQ_F16, 1000);
    float value[1000] = {0};

    for (int i = 0; i < 100; i++) {
        float want = (float)(100 * w->seed + i);

        opencl_fill(q, x, want);
        opencl_fill(q, y, want + 1);
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

/* The same kernels from two threads at once, compiled by whoever is first. */
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

int main(void)
{
    if (opencl_missing())
        return tap_done(0);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    tap_ok(run_threads(NULL) == 0, "two threads, each with its own device");
    dev = core_open("opencl:0");
    tap_ok(run_threads(dev) == 0, "two threads share a device");
    test_memory();
    test_many();
    test_events();
    ssq_device_close(&dev);
    return tap_done(10);
}
