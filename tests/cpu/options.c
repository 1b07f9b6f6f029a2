/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - <sesqui/cpu.h>: refusals, priorities over the
 * environment, when threads are started, that a lent parallel-for is used and
 * changes no bit, also in children of fork and on two devices together. */
#define _GNU_SOURCE
#include <sesqui/cpu.h>

#include "tests/core/core.h"
#include "tests/cpu/sets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define N 160

/* Threads of this process, as the system counts them. */
static unsigned threads(void)
{
    char line[128];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "Threads: %u", &n);
    if (f != NULL)
        fclose(f);
    return n;
}

/* True if the process has n threads. Linux lists a thread for a moment after it
 * was joined, so more than n are asked for again, for at most a second. */
static bool has_threads(unsigned n)
{
    for (int i = 0; i < 1000 && threads() > n; i++)
        usleep(1000);
    return threads() == n;
}

static void *nothing(void *of)
{
    return of;
}

/* A checker of threads starts its own one beside the first of a process. */
static void first_thread(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, nothing, NULL) != 0)
        tap_bail("no thread can be started");
    pthread_join(t, NULL);
}

static atomic_uint lent_calls;

static void in_turn(void *user, uint32_t n, ssq_cpu_share share, void *context)
{
    atomic_fetch_add((atomic_uint *)user, 1);
    for (uint32_t i = 0; i < n; i++)
        share(context, i);
}

struct share {
    ssq_cpu_share call;
    void *context;
    uint32_t i;
};

static void *call_share(void *of)
{
    const struct share *s = of;
    s->call(s->context, s->i);
    return NULL;
}

static void at_once(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    pthread_t thread[16];
    struct share share[16];
    atomic_fetch_add((atomic_uint *)user, 1);
    for (uint32_t i = 0; i < n; i++) {
        share[i] = (struct share){call, context, i};
        if (i >= 16 ||
            pthread_create(&thread[i], NULL, call_share, &share[i]) != 0)
            tap_bail("no thread for share %u", (unsigned)i);
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

/* ---- refusals and priorities ---- */

static void refused(const ssq_cpu_options *o, const char *parts,
                    const char *what)
{
    ssq_device *dev = NULL;
    core_status(ssq_cpu_device_open(o, NULL, &dev), SSQ_ERR_INVALID, parts,
                "refused: %s", what);
    if (!tap_ok(dev == NULL, "no device: %s", what))
        ssq_device_close(&dev);
}

static void test_refusals(void)
{
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    ssq_cpu_info info = SSQ_CPU_INFO_INIT;
    ssq_device_options general = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL, *other = core_open("reference");
    core_status(ssq_cpu_device_open(&o, NULL, NULL), SSQ_ERR_INVALID, "device",
                "refused: no place for the device");
    o.struct_size = 8;
    refused(&o, "struct_size is 8", "struct_size 8");
    o = (ssq_cpu_options)SSQ_CPU_OPTIONS_INIT;
    o.threads = SSQ_CPU_THREADS + 1;
    refused(&o, "1025 threads|1024", "1025 threads");
    o = (ssq_cpu_options)SSQ_CPU_OPTIONS_INIT;
    o.instructions = "sse9";
    refused(&o, "sse9|avx512, avx2, plain", "instructions that there are not");
    o = (ssq_cpu_options)SSQ_CPU_OPTIONS_INIT;
    o.user = &o;
    refused(&o, "user|parallel_for is NULL", "user without parallel_for");
    o = (ssq_cpu_options)SSQ_CPU_OPTIONS_INIT;
    o.survives_fork = true;
    refused(&o, "survives_fork|parallel_for is NULL",
            "survives_fork without parallel_for");
    general.struct_size = 1;
    core_status(ssq_cpu_device_open(NULL, &general, &dev), SSQ_ERR_INVALID,
                "cpu_device_open|struct_size", "refused: device options");
    core_status(ssq_cpu_info_get(NULL, &info), SSQ_ERR_INVALID, "NULL",
                "info of no device");
    core_status(ssq_cpu_info_get(other, &info), SSQ_ERR_INVALID,
                "reference is not a device of cpu", "info of another backend");
    ssq_device_close(&other);
    NEED(ssq_cpu_device_open(NULL, NULL, &dev));
    core_status(ssq_cpu_info_get(dev, NULL), SSQ_ERR_INVALID, "info",
                "no info");
    info.struct_size = 4;
    core_status(ssq_cpu_info_get(dev, &info), SSQ_ERR_INVALID, "struct_size",
                "info of 4 bytes");
    ssq_device_close(&dev);
}

static ssq_cpu_info info_of(const ssq_cpu_options *o)
{
    ssq_device *dev = NULL;
    ssq_cpu_info info = SSQ_CPU_INFO_INIT;
    NEED(ssq_cpu_device_open(o, NULL, &dev));
    NEED(ssq_cpu_info_get(dev, &info));
    ssq_device_close(&dev);
    return info;
}

static void test_environment(void)
{
    static const char *const nonsense[] = {
        "0",   "-1", "1025", "2x",  " 2",
        "0x2", "+2", "two",  "1e1", "99999999999999999999"};
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        ssq_device *dev = NULL;
        setenv("SSQ_NUM_THREADS", nonsense[i], 1);
        core_status(ssq_device_open("cpu", NULL, &dev), SSQ_ERR_INVALID,
                    "SSQ_NUM_THREADS|1 to 1024", "SSQ_NUM_THREADS=\"%s\"",
                    nonsense[i]);
        ssq_device_close(&dev);
        o.threads = 2;
        tap_ok(info_of(&o).threads == 2, "an option comes before \"%s\"",
               nonsense[i]);
    }
    setenv("SSQ_NUM_THREADS", "1024", 1);
    tap_ok(info_of(NULL).threads == 1024, "1024 threads, none of them started");
    setenv("SSQ_NUM_THREADS", "", 1);
    tap_ok(info_of(NULL).threads >= 1, "an empty SSQ_NUM_THREADS is none");
    setenv("SSQ_NUM_THREADS", "3", 1);
    const char *sets[SETS_MOST];
    const char *least = sets[sets_find(sets) - 1];
    setenv("SSQ_CPU_ISA", least, 1);
    ssq_cpu_info i = info_of(NULL);
    tap_ok(i.threads == 3 && !i.lent && strcmp(i.instructions, least) == 0,
           "by the environment: %u threads, %s", (unsigned)i.threads,
           i.instructions);
    o.threads = 5;
    o.instructions = "avx512";
    i = info_of(&o);
    unsetenv("SSQ_CPU_ISA");
    o.instructions = NULL;
    tap_ok(i.threads == 5 &&
               strcmp(i.instructions, info_of(&o).instructions) == 0,
           "by options: %u threads, %s", (unsigned)i.threads, i.instructions);
    unsetenv("SSQ_NUM_THREADS");
    if (strcmp(least, "plain") == 0)
        return;
    ssq_device *dev = NULL;
    o.instructions = "plain";
    core_status(ssq_cpu_device_open(&o, NULL, &dev), SSQ_ERR_UNSUPPORTED,
                "--with-cpu-isa=all", "a set that was not compiled");
}

/* ---- products ---- */

struct options_work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *d;
    float out[N * N];
};

static void begin(struct options_work *w, const ssq_cpu_options *o)
{
    const int64_t shape[] = {N, N};
    float in[N * N];
    NEED(ssq_cpu_device_open(o, NULL, &w->dev));
    w->q = core_queue(w->dev);
    NEED(ssq_tensor_create(w->dev, SSQ_F32, 2, shape, &w->a));
    NEED(ssq_tensor_create(w->dev, SSQ_F32, 2, shape, &w->d));
    for (int i = 0; i < N * N; i++)
        in[i] = (float)((i * 37 + 11) % 101) / 7.0f - 6.0f;
    NEED(ssq_tensor_write(w->q, w->a, in, sizeof(in), SSQ_F32));
}

static void end(struct options_work *w)
{
    ssq_tensor_destroy(&w->a);
    ssq_tensor_destroy(&w->d);
    ssq_queue_destroy(&w->q);
    ssq_device_close(&w->dev);
}

/* A product and a norm over it, so that own code and kernels run. */
static ssq_status run(struct options_work *w)
{
    ssq_status st = ssq_gemm(w->q, SSQ_GEMM(.a = w->a, .b = w->a, .d = w->d));
    if (st == SSQ_OK)
        st = ssq_softmax(w->q, SSQ_SOFTMAX(.x = w->d, .y = w->d, .axis = -1));
    return st == SSQ_OK
               ? ssq_tensor_read(w->q, w->d, w->out, sizeof(w->out), SSQ_F32)
               : st;
}

static void test_own_threads(void)
{
    static struct options_work w;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.threads = 3;
    unsigned before = threads();
    begin(&w, &o);
    tap_ok(threads() == before, "no thread for a device and small writes");
    const int64_t wide[] = {4096, 1024}, narrow[] = {64, 64};
    ssq_tensor *large = NULL, *small = NULL, *product = NULL;
    NEED(ssq_tensor_create(w.dev, SSQ_F32, 2, narrow, &small));
    NEED(ssq_tensor_create(w.dev, SSQ_F32, 2, narrow, &product));
    NEED(ssq_fill(w.q, SSQ_FILL(.x = small, .value = 1.0)));
    NEED(ssq_gemm(w.q, SSQ_GEMM(.a = small, .b = small, .d = product)));
    tap_ok(threads() == before, "a product of 64^3 starts none");
    NEED(ssq_tensor_create(w.dev, SSQ_F32, 2, wide, &large));
    NEED(ssq_fill(w.q, SSQ_FILL(.x = large, .value = 1.0)));
    tap_ok(threads() == before + 2, "an op on 16 MiB starts 2 threads");
    usleep(5000);
    ssq_tensor_destroy(&large);
    ssq_tensor_destroy(&small);
    ssq_tensor_destroy(&product);
    end(&w);
    tap_ok(has_threads(before), "the device is closed as they sleep");
}

/* The bits of one thread equal the bits of all. */
static void test_lent(void)
{
    static struct options_work one, w;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.threads = 1;
    begin(&one, &o);
    NEED(run(&one));
    static const struct {
        const char *name;
        void (*f)(void *, uint32_t, ssq_cpu_share, void *);
    } way[] = {{"in turn", in_turn}, {"at once", at_once}};
    for (size_t i = 0; i < 2; i++) {
        unsigned before = threads();
        o.threads = 3;
        o.parallel_for = way[i].f;
        o.user = &lent_calls;
        atomic_store(&lent_calls, 0);
        begin(&w, &o);
        NEED(run(&w));
        tap_ok(lent_calls > 0 && has_threads(before),
               "%s: %u loops by the program, no thread of ours", way[i].name,
               (unsigned)lent_calls);
        tap_ok(memcmp(w.out, one.out, sizeof(w.out)) == 0,
               "%s: the bits of one thread", way[i].name);
        ssq_cpu_info info = SSQ_CPU_INFO_INIT;
        NEED(ssq_cpu_info_get(w.dev, &info));
        tap_ok(info.lent && info.threads == 3, "%s: info says so", way[i].name);
        end(&w);
    }
    end(&one);
}

static struct options_work *inherited;

static int child(void *calls)
{
    atomic_store(&lent_calls, 0);
    if (run(inherited) != SSQ_OK)
        return 1;
    if ((lent_calls > 0) != (calls != NULL))
        return 2;
    end(inherited);
    static struct options_work w;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.threads = 2;
    o.parallel_for = in_turn;
    o.user = &lent_calls;
    atomic_store(&lent_calls, 0);
    begin(&w, &o); /* this process's own pool exists */
    if (run(&w) != SSQ_OK || lent_calls == 0)
        return 3;
    end(&w);
    return 0;
}

static void test_fork(void)
{
    static struct options_work w;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.threads = 3;
    int way = 0;
#ifdef __SANITIZE_THREAD__
    /* it ends a child that starts threads with "dup thread with used id" */
    tap_skip("TSan cannot follow a child of fork that starts threads",
             "a child goes on, with threads of its own");
    way = 1;
#endif
    for (; way < 3; way++) {
        o.parallel_for = way == 0 ? NULL : at_once;
        o.user = way == 0 ? NULL : &lent_calls;
        o.survives_fork = way == 2;
        begin(&w, &o);
        NEED(run(&w));
        inherited = &w;
        int st = tap_fork(child, way == 2 ? &w : NULL, 60);
        tap_ok(tap_exited(st, 0), "a child goes on, %s: %s",
               way == 0   ? "with threads of its own"
               : way == 1 ? "alone"
                          : "with the program's",
               tap_status(st));
        tap_ok(run(&w) == SSQ_OK, "and so does its parent");
        end(&w);
    }
}

/* ---- two devices, two queues ---- */

static void *many(void *of)
{
    struct options_work *w = of;
    float first[N * N];
    for (int i = 0; i < 30; i++) {
        if (run(w) != SSQ_OK)
            return w;
        if (i == 0)
            memcpy(first, w->out, sizeof(first));
        if (memcmp(first, w->out, sizeof(first)) != 0)
            return w;
    }
    return NULL;
}

static void together(struct options_work *a, struct options_work *b,
                     const char *what)
{
    pthread_t other;
    void *bad = NULL;
    if (pthread_create(&other, NULL, many, b) != 0)
        tap_bail("no second thread");
    bool good = many(a) == NULL;
    pthread_join(other, &bad);
    tap_ok(good && bad == NULL && memcmp(a->out, b->out, sizeof(a->out)) == 0,
           "%s at a time from two threads", what);
}

static void test_two(void)
{
    static struct options_work a, b;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.threads = 2;
    for (int lent = 0; lent < 2; lent++) {
        o.parallel_for = lent ? at_once : NULL;
        o.user = lent ? &lent_calls : NULL;
        begin(&a, &o);
        begin(&b, &o);
        together(&a, &b,
                 lent ? "two devices of the program's threads" : "two devices");
        end(&b);
        b = a; /* another queue of the same device */
        b.q = core_queue(a.dev);
        const int64_t shape[] = {N, N};
        NEED(ssq_tensor_create(a.dev, SSQ_F32, 2, shape, &b.d));
        together(&a, &b,
                 lent ? "two queues of the program's threads" : "two queues");
        ssq_tensor_destroy(&b.d);
        ssq_queue_destroy(&b.q);
        end(&a);
    }
}

int main(void)
{
    unsetenv("SSQ_NUM_THREADS");
    unsetenv("SSQ_CPU_ISA");
    first_thread();
    test_refusals();
    test_environment();
    test_own_threads();
    test_lent();
    test_fork();
    test_two();
    return tap_done(60);
}
