/* SPDX-License-Identifier: Apache-2.0 */
/* queues.h - queues of a device that depend on each other by events, and
 * queues of threads that do not. */
#ifndef TESTS_CORE_QUEUES_H
#define TESTS_CORE_QUEUES_H

#include <pthread.h>

#include "tests/core/driver.h"

#define QUEUES_N       100000 /* elements */
#define QUEUES_THREADS 2

/* One queue fills, another copies, in turn: neither waits on the host, so
 * that a missing dependency shows as a number of another turn. Now and then the
 * host looks. Names of cases begin with mode. */
static inline void queues_hand_over(ssq_device *dev, const char *mode,
                                    int fills)
{
    static float out[QUEUES_N];
    ssq_queue *one = core_queue(dev), *two = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, QUEUES_N),
               *y = core_vector(dev, SSQ_F32, QUEUES_N);
    ssq_event *begin = NULL, *filled = NULL, *copied = NULL;
    double seconds = -1, back = 0;
    int wrong = 0;

    NEED(ssq_event_create(dev, &begin));
    NEED(ssq_event_create(dev, &filled));
    NEED(ssq_event_create(dev, &copied));
    NEED(ssq_event_record(begin, one));
    NEED(ssq_event_record(copied, two));
    for (int i = 1; i <= fills; i++) {
        NEED(ssq_queue_wait(one, copied));
        driver_fill(one, x, i);
        NEED(ssq_event_record(filled, one));
        NEED(ssq_queue_wait(two, filled));
        driver_copy(two, x, y);
        NEED(ssq_tensor_read(two, y, out, sizeof(out), SSQ_F32));
        NEED(ssq_event_record(copied, two));
        if (i % 10 == 0 || i == fills) {
            NEED(ssq_event_sync(copied));
            wrong += out[0] != (float)i || out[QUEUES_N - 1] != (float)i;
        }
    }
    tap_ok(wrong == 0, "%s: two queues hand %d fills over by events, %d wrong",
           mode, fills, wrong);
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

struct queues_worker {
    pthread_t thread;
    const char *name; /* of the device that it opens .. */
    ssq_device *dev;  /* .. unless there is one */
    int seed, wrong;  /* the value that it fills with; wrong results */
};

/* A thread: fills of two dtypes, each read back and compared. */
static inline void *queues_work(void *arg)
{
    struct queues_worker *w = arg;
    ssq_device *d = w->dev != NULL ? w->dev : core_open(w->name);
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = core_vector(d, SSQ_F32, 1000),
               *y = core_vector(d, SSQ_F16, 1000);
    float value[1000] = {0};

    for (int i = 0; i < 100; i++) {
        float want = (float)(100 * w->seed + i);

        driver_fill(q, x, want);
        driver_fill(q, y, want + 1);
        NEED(ssq_tensor_read(q, x, value, sizeof(value), SSQ_F32));
        NEED(ssq_queue_sync(q));
        w->wrong += value[0] != want || value[999] != want;
        NEED(ssq_tensor_read(q, y, value, sizeof(value), SSQ_F32));
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

/* The same kernels from two threads concurrently, made by the first; on
 * separate devices if shared is NULL. */
static inline void queues_of_threads(const char *mode, const char *name,
                                     ssq_device *shared)
{
    struct queues_worker w[QUEUES_THREADS];
    int wrong = 0;

    for (int i = 0; i < QUEUES_THREADS; i++) {
        w[i] = (struct queues_worker){.name = name, .dev = shared, .seed = i};
        if (pthread_create(&w[i].thread, NULL, queues_work, &w[i]) != 0)
            tap_bail("no thread");
    }
    for (int i = 0; i < QUEUES_THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        wrong += w[i].wrong;
    }
    tap_ok(wrong == 0, "%s: %d threads, %s, %d wrong", mode, QUEUES_THREADS,
           shared == NULL ? "each with its own device" : "one device", wrong);
}

#endif
