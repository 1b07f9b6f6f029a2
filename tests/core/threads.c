/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - tests with threads: distinct devices freely, one device with
 * its queues, events between threads. Meant for a race detector. */

#include <pthread.h>
#include <stdatomic.h>

#include "tests/core/core.h"

#define THREADS 4

struct threads_worker {
    pthread_t thread;
    const char *name; /* its own device; NULL: shared */
    ssq_device *dev;
    int seed;
    int wrong;
};

static ssq_status copy(ssq_queue *q, const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    return ssq_copy(q, &args);
}

/* One round: tensors come and go, values pass through, a call fails. */
static int round_trip(ssq_device *dev, ssq_queue *q, int seed)
{
    int64_t n = 64 + seed % 64, zero = -1;
    ssq_tensor *x = NULL, *y = NULL, *bad = NULL;
    float in[128], out[128] = {0};
    int wrong = 0;

    for (int i = 0; i < n; i++)
        in[i] = (float)(seed + i);
    if (ssq_tensor_create(dev, SSQ_F32, 1, &n, &x) != SSQ_OK ||
        ssq_tensor_create(dev, SSQ_F32, 1, &n, &y) != SSQ_OK ||
        ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32) != SSQ_OK ||
        copy(q, x, y) != SSQ_OK ||
        ssq_tensor_read(q, y, out, sizeof(out), SSQ_F32) != SSQ_OK)
        wrong++;
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    wrong += ssq_tensor_create(dev, SSQ_F32, 1, &zero, &bad) == SSQ_OK;
    wrong += !core_has(ssq_last_error(), "-1");
    wrong += ssq_queue_sync(q) != SSQ_OK;
    return wrong + (memcmp(in, out, (size_t)n * 4) != 0);
}

static void *run_worker(void *arg)
{
    struct threads_worker *w = arg;
    ssq_device *dev = w->dev;
    ssq_queue *q = NULL;

    if (w->name != NULL && ssq_device_open(w->name, NULL, &dev) != SSQ_OK) {
        w->wrong++;
        return NULL;
    }
    if (ssq_queue_create(dev, NULL, &q) != SSQ_OK) {
        w->wrong++;
        return NULL;
    }
    for (int i = 0; i < 100; i++)
        w->wrong += round_trip(dev, q, 1000 * w->seed + i);
    ssq_queue_destroy(&q);
    if (w->name != NULL)
        ssq_device_close(&dev);
    return NULL;
}

static int run_all(const char *name, ssq_device *shared)
{
    struct threads_worker w[THREADS];
    int wrong = 0;

    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct threads_worker){.name = name, .dev = shared, .seed = i};
        if (pthread_create(&w[i].thread, NULL, run_worker, &w[i]) != 0)
            tap_bail("no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        wrong += w[i].wrong;
    }
    return wrong;
}

/* One thread produces on its queue, another consumes on its own. */
struct threads_pair {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int produced, consumed; /* rounds */
    ssq_device *dev;
    ssq_tensor *x;
    ssq_event *ready, *taken;
    int wrong;
};

enum { ROUNDS = 100 };

static void wait_for(struct threads_pair *p, const int *counter, int value)
{
    pthread_mutex_lock(&p->lock);
    while (*counter < value)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void advance(struct threads_pair *p, int *counter)
{
    pthread_mutex_lock(&p->lock);
    ++*counter;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void *produce(void *arg)
{
    struct threads_pair *p = arg;
    ssq_queue *q = NULL;
    static int32_t values[ROUNDS];
    int wrong = ssq_queue_create(p->dev, NULL, &q) != SSQ_OK;

    for (int i = 0; i < ROUNDS && wrong == 0; i++) {
        values[i] = i * i;
        if (i > 0) {
            wait_for(p, &p->consumed, i);
            wrong += ssq_queue_wait(q, p->taken) != SSQ_OK;
        }
        wrong += ssq_tensor_write(q, p->x, &values[i], sizeof(values[i]),
                                  SSQ_I32) != SSQ_OK;
        wrong += ssq_event_record(p->ready, q) != SSQ_OK;
        advance(p, &p->produced);
    }
    wait_for(p, &p->consumed, ROUNDS);
    wrong += ssq_queue_sync(q) != SSQ_OK;
    ssq_queue_destroy(&q);
    pthread_mutex_lock(&p->lock);
    p->wrong += wrong;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void *consume(void *arg)
{
    struct threads_pair *p = arg;
    ssq_queue *q = NULL;
    static int32_t values[ROUNDS];
    int wrong = ssq_queue_create(p->dev, NULL, &q) != SSQ_OK;

    for (int i = 0; i < ROUNDS; i++) {
        wait_for(p, &p->produced, i + 1);
        wrong += ssq_queue_wait(q, p->ready) != SSQ_OK;
        wrong += ssq_tensor_read(q, p->x, &values[i], sizeof(values[i]),
                                 SSQ_I32) != SSQ_OK;
        wrong += ssq_event_record(p->taken, q) != SSQ_OK;
        if (i % 7 == 0)
            wrong += ssq_event_sync(p->ready) != SSQ_OK;
        advance(p, &p->consumed);
    }
    wrong += ssq_queue_sync(q) != SSQ_OK;
    for (int i = 0; i < ROUNDS; i++)
        wrong += values[i] != i * i;
    ssq_queue_destroy(&q);
    pthread_mutex_lock(&p->lock);
    p->wrong += wrong;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void test_events(const char *name)
{
    struct threads_pair p = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};
    pthread_t a, b;

    p.dev = core_open(name);
    p.x = core_vector(p.dev, SSQ_I32, 1);
    NEED(ssq_event_create(p.dev, &p.ready));
    NEED(ssq_event_create(p.dev, &p.taken));
    if (pthread_create(&a, NULL, produce, &p) != 0 ||
        pthread_create(&b, NULL, consume, &p) != 0)
        tap_bail("no thread");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    tap_ok(p.wrong == 0,
           "%s: %d values pass from one thread's queue to another's: %d wrong",
           name, ROUNDS, p.wrong);
    ssq_event_destroy(&p.ready);
    ssq_event_destroy(&p.taken);
    ssq_tensor_destroy(&p.x);
    ssq_device_close(&p.dev);
}

/* A thread releases the objects that its queue used, while another thread runs
 * that queue because it waits for its event. */
static void *let_go(void *arg)
{
    struct threads_pair *p = arg;
    ssq_queue *q = NULL;
    static const int32_t value = 7;
    int wrong = ssq_queue_create(p->dev, NULL, &q) != SSQ_OK;

    for (int i = 0; i < ROUNDS && wrong == 0; i++) {
        ssq_tensor *x = core_vector(p->dev, SSQ_I32, 1);
        wrong +=
            ssq_tensor_write(q, x, &value, sizeof(value), SSQ_I32) != SSQ_OK;
        wrong += ssq_event_record(p->ready, q) != SSQ_OK;
        ssq_tensor_destroy(&x);
        advance(p, &p->produced);
        /* each call asks how far the queue has come, and frees what it can */
        for (int k = 0; k < 50 && wrong == 0; k++)
            wrong += ssq_queue_wait(q, p->ready) != SSQ_OK;
        wait_for(p, &p->consumed, i + 1);
    }
    ssq_queue_destroy(&q);
    pthread_mutex_lock(&p->lock);
    p->wrong += wrong;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void test_let_go(const char *name)
{
    struct threads_pair p = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};
    ssq_queue *q;
    pthread_t other;
    int wrong = 0;

    p.dev = core_open(name);
    NEED(ssq_queue_create(p.dev, NULL, &q));
    NEED(ssq_event_create(p.dev, &p.ready));
    if (pthread_create(&other, NULL, let_go, &p) != 0)
        tap_bail("no thread");
    for (int i = 0; i < ROUNDS; i++) {
        wait_for(&p, &p.produced, i + 1);
        wrong += ssq_queue_wait(q, p.ready) != SSQ_OK;
        wrong += ssq_queue_sync(q) != SSQ_OK;
        advance(&p, &p.consumed);
    }
    pthread_join(other, NULL);
    tap_ok(p.wrong + wrong == 0,
           "%s: memory is let go while another thread runs its queue: %d wrong",
           name, p.wrong + wrong);
    ssq_event_destroy(&p.ready);
    ssq_queue_destroy(&q);
    ssq_device_close(&p.dev);
}

/* ---- reads that the host converts ---- */

#define MANY   (1 << 20)
#define ROUNDS 8

struct asker {
    ssq_queue *q;
    atomic_bool end;
};

/* Retire what has finished on all queues of the device, again and again. */
static void *ask(void *arg)
{
    struct asker *a = arg;
    while (!atomic_load(&a->end))
        (void)!ssq_queue_status(a->q);
    return NULL;
}

/* The numbers are on the host after ssq_event_sync, also if another thread
 * retires the read. */
static void test_landing(const char *name)
{
    static double host[MANY];
    ssq_device *dev = core_open(name);
    ssq_queue *q = core_queue(dev);
    struct asker a = {.q = core_queue(dev)};
    ssq_tensor *t = core_vector(dev, SSQ_F32, MANY);
    ssq_event *e = NULL;
    pthread_t thread;
    int wrong = 0;
    NEED(ssq_event_create(dev, &e));
    if (pthread_create(&thread, NULL, ask, &a) != 0)
        tap_bail("no thread");
    for (int i = 1; i <= ROUNDS; i++) {
        NEED(ssq_fill(q, SSQ_FILL(.x = t, .value = i)));
        NEED(ssq_tensor_read(q, t, host, sizeof(host), SSQ_F64));
        NEED(ssq_event_record(e, q));
        ssq_status st = ssq_event_sync(e);
        wrong += st != SSQ_OK || host[MANY - 1] != i;
    }
    atomic_store(&a.end, true);
    pthread_join(thread, NULL);
    tap_ok(wrong == 0,
           "%s: a reached event, while another thread retires: %d of %d reads "
           "are late",
           name, wrong, ROUNDS);
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&a.q);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        const char *name = core_device(i);
        int wrong = run_all(name, NULL);
        ssq_device *dev;

        tap_ok(wrong == 0, "%s: 4 threads, each its own device: %d wrong", name,
               wrong);
        dev = core_open(name);
        wrong = run_all(NULL, dev);
        tap_ok(wrong == 0,
               "%s: 4 threads, each its own queue of one device: %d wrong",
               name, wrong);
        ssq_device_close(&dev);
        test_events(name);
        test_let_go(name);
        test_landing(name);
    }
    return tap_done(10);
}
