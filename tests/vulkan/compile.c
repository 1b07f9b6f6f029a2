/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - tests of vulkan's threads that compile: many kernels at the same
 * time, queues whose kernels are not ready, kernels that fail, and a device
 * that is closed while it compiles.
 *
 * The driver's compiler is held up here: it takes a while, or waits. */

#include <limits.h>
#include <time.h>

#include "backends/vulkan/calls.h"
#include "tests/core/queues.h"

#define N       512
#define THREADS 4

static struct {
    struct vulkan_calls real;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;       /* compilers wait */
    long ms;         /* that a compiler takes longer */
    long failures;   /* calls that are going to fail */
    VkResult result; /* with which they fail */
    /* calls that have begun and that are running; the most at one time;
     * pipelines, less those destroyed */
    long begun, active, most, live;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER};

static ssq_status (*const ops[])(ssq_queue *, const ssq_unary_args *) = {
    ssq_relu,   ssq_gelu, ssq_gelu_tanh, ssq_silu,       ssq_sigmoid,
    ssq_tanh,   ssq_exp,  ssq_log1p,     ssq_reciprocal, ssq_abs,
    ssq_neg,    ssq_erf,  ssq_sin,       ssq_cos,        ssq_sqrt,
    ssq_square, ssq_sign, ssq_floor,     ssq_ceil,       ssq_round,
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/* ---- the driver ---- */

/* The result with which this call fails, or VK_SUCCESS. */
static VkResult compiler_begin(void)
{
    pthread_mutex_lock(&driver.lock);
    driver.begun++;
    if (++driver.active > driver.most)
        driver.most = driver.active;
    const struct timespec pause = {0, driver.ms * 1000000};
    while (driver.held)
        pthread_cond_wait(&driver.changed, &driver.lock);
    VkResult e = driver.failures > 0 ? driver.result : VK_SUCCESS;
    driver.failures -= e != VK_SUCCESS;
    pthread_mutex_unlock(&driver.lock);
    if (pause.tv_nsec > 0)
        nanosleep(&pause, NULL);
    return e;
}

static VKAPI_ATTR VkResult VKAPI_CALL
make_pipelines(VkDevice d, VkPipelineCache c, uint32_t n,
               const VkComputePipelineCreateInfo *info,
               const VkAllocationCallbacks *a, VkPipeline *made)
{
    VkResult e = compiler_begin();

    if (e != VK_SUCCESS)
        *made = VK_NULL_HANDLE;
    else
        e = driver.real.CreateComputePipelines(d, c, n, info, a, made);
    pthread_mutex_lock(&driver.lock);
    driver.active--;
    driver.live += e == VK_SUCCESS;
    pthread_mutex_unlock(&driver.lock);
    return e;
}

static VKAPI_ATTR void VKAPI_CALL drop_pipeline(VkDevice d, VkPipeline p,
                                                const VkAllocationCallbacks *a)
{
    driver.live -= p != VK_NULL_HANDLE;
    driver.real.DestroyPipeline(d, p, a);
}

static void stand_between(void)
{
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");

    driver.real = *table;
    table->CreateComputePipelines = make_pipelines;
    table->DestroyPipeline = drop_pipeline;
}

static void hold(bool held)
{
    pthread_mutex_lock(&driver.lock);
    driver.held = held;
    pthread_cond_broadcast(&driver.changed);
    pthread_mutex_unlock(&driver.lock);
}

/* Open a device with this many threads. The compiler is not delayed yet. */
static ssq_device *open_with(const char *threads, long ms)
{
    setenv("SSQ_VULKAN_THREADS", threads, 1);
    driver.ms = 0;
    ssq_device *dev = core_open("vulkan:0");

    driver.ms = ms;
    driver.begun = driver.most = 0;
    return dev;
}

/* ---- many kernels ---- */

struct compile_worker {
    pthread_t thread;
    ssq_device *dev;
    size_t first; /* op that it begins with */
    float result[OPS][N];
};

/* All ops on one input, without a wait between them. */
static void *work(void *arg)
{
    struct compile_worker *w = arg;
    ssq_queue *q = core_queue(w->dev);
    ssq_tensor *x = core_vector(w->dev, SSQ_F32, N), *y[OPS];
    float in[N];

    for (int i = 0; i < N; i++)
        in[i] = (float)(i - N / 2) / 37.0f;
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    for (size_t i = 0; i < OPS; i++)
        y[i] = core_vector(w->dev, SSQ_F32, N);
    for (size_t k = 0; k < OPS; k++) {
        size_t i = (w->first + k) % OPS;

        NEED(ops[i](q, SSQ_UNARY(.x = x, .y = y[i])));
        NEED(ssq_tensor_read(q, y[i], w->result[i], sizeof(w->result[i]),
                             SSQ_F32));
    }
    NEED(ssq_queue_sync(q));
    for (size_t i = 0; i < OPS; i++)
        ssq_tensor_destroy(&y[i]);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    return NULL;
}

static void test_many(void)
{
    static struct compile_worker one, w[THREADS];
    int wrong = 0;

    one.dev = open_with("0", 0);
    work(&one);
    const long kernels = driver.begun;
    tap_ok(driver.most == 1 && kernels >= (long)OPS,
           "without threads %ld kernels are compiled one by one", kernels);
    ssq_device_close(&one.dev);
    ssq_device *dev = open_with("8", 5);
    for (size_t i = 0; i < THREADS; i++) {
        w[i].dev = dev;
        w[i].first = i * OPS / THREADS;
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            tap_bail("no thread");
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        wrong += memcmp(w[i].result, one.result, sizeof(one.result)) != 0;
    }
    tap_ok(wrong == 0, "%d threads with a queue each get the same bits, %d not",
           THREADS, wrong);
    tap_ok(driver.begun == kernels && driver.most > 1 && driver.most <= 8,
           "%ld kernels are compiled once each, %ld at the same time",
           driver.begun, driver.most);
    ssq_device_close(&dev);
    tap_ok(driver.live == 0, "all pipelines are destroyed, but %ld",
           driver.live);
}

/* ---- one queue ---- */

/* A poll does not wait for a compiler, and polls alone bring the work to its
 * end. */
static void test_polled(void)
{
    ssq_device *dev = open_with("2", 0);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    float out[N] = {0};
    int other = 0;

    hold(true);
    driver_fill(q, x, 3);
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    for (int i = 0; i < 10; i++)
        other += ssq_queue_status(q) != SSQ_ERR_NOT_READY;
    tap_ok(other == 0, "while a kernel is compiled the queue is not ready");
    hold(false);
    while (ssq_queue_status(q) == SSQ_ERR_NOT_READY)
        continue;
    core_status(ssq_queue_status(q), SSQ_OK, NULL, "then it is, by asking");
    tap_ok(out[0] == 3 && out[N - 1] == 3, "with the result: %g",
           (double)out[0]);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

static void test_events(void)
{
    ssq_device *dev = open_with("2", 50);

    queues_hand_over(dev, "slow compilers", 20);
    ssq_device_close(&dev);
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    dev = open_with("2", 50);
    queues_hand_over(dev, "slow compilers, fences", 20);
    ssq_device_close(&dev);
    unsetenv("SSQ_VULKAN_TIMELINE");
}

/* y = -|x| as a graph. */
static ssq_status graph_of_two(ssq_queue *q, const ssq_tensor *x,
                               const ssq_tensor *y, ssq_graph **g)
{
    NEED(ssq_graph_begin(q));
    NEED(ssq_abs(q, SSQ_UNARY(.x = x, .y = y)));
    NEED(ssq_neg(q, SSQ_UNARY(.x = y, .y = y)));
    return ssq_graph_end(q, g);
}

static void test_graph(void)
{
    ssq_device *dev = open_with("2", 50);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_tensor *y = core_vector(dev, SSQ_F32, N);
    ssq_graph *g = NULL;
    float out[N] = {0};

    driver_fill(q, x, 5);
    NEED(graph_of_two(q, x, y, &g));
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_tensor_read(q, y, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(out[0] == -5 && out[N - 1] == -5,
           "a graph whose kernels were not ready: %g", (double)out[0]);
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* ---- failures ---- */

static void fail(long failures, VkResult result)
{
    pthread_mutex_lock(&driver.lock);
    driver.failures = failures;
    driver.result = result;
    pthread_mutex_unlock(&driver.lock);
}

/* The compiler fails for good, on a device with threads. */
static void test_fails(VkResult result, ssq_status want, const char *parts)
{
    ssq_device *dev = open_with("2", 0);
    ssq_queue *q = core_queue(dev), *other = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);

    driver_fill(q, x, 1);
    NEED(ssq_queue_sync(q));
    fail(LONG_MAX, result);
    core_status(ssq_exp(q, SSQ_UNARY(.x = x, .y = x)), SSQ_OK, NULL,
                "(%d) a call that needs a compiler returns", (int)result);
    core_status(ssq_queue_sync(q), want, parts, "(%d) its failure is at a sync",
                (int)result);
    core_status(ssq_queue_sync(q), want, parts, "(%d) and stays", (int)result);
    core_status(ssq_exp(other, SSQ_UNARY(.x = x, .y = x)), want, parts,
                "(%d) another queue's call is refused", (int)result);
    fail(0, VK_SUCCESS);
    core_status(ssq_exp(other, SSQ_UNARY(.x = x, .y = x)), SSQ_OK, NULL,
                "(%d) until the compiler works again", (int)result);
    core_status(ssq_queue_sync(other), SSQ_OK, NULL, "(%d) without an error",
                (int)result);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&other);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* A failure for a moment, and one without threads. */
static void test_refused(void)
{
    ssq_device *dev = open_with("2", 0);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);

    fail(1, VK_ERROR_OUT_OF_HOST_MEMORY);
    driver_fill(q, x, 1);
    core_status(ssq_queue_sync(q), SSQ_OK, NULL,
                "a compiler that fails once is called again");
    tap_ok(driver.begun == 2, "it was called %ld times", driver.begun);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    dev = open_with("0", 0);
    q = core_queue(dev);
    x = core_vector(dev, SSQ_F32, N);
    fail(LONG_MAX, VK_ERROR_UNKNOWN);
    core_status(ssq_fill(q, SSQ_FILL(.x = x, .value = 1)), SSQ_ERR_DEVICE,
                "kernel fill|vkCreateComputePipelines|(-13)",
                "without threads the call is refused");
    fail(0, VK_SUCCESS);
    core_status(ssq_queue_sync(q), SSQ_OK, NULL, "and the queue is good");
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* A graph whose kernel fails: the queue that runs it gets the error. */
static void test_graph_fails(void)
{
    ssq_device *dev = open_with("2", 0);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_tensor *y = core_vector(dev, SSQ_F32, N);
    ssq_graph *g = NULL;

    driver_fill(q, x, 5);
    NEED(ssq_queue_sync(q));
    fail(LONG_MAX, VK_ERROR_UNKNOWN);
    ssq_status st = graph_of_two(q, x, y, &g);
    if (st == SSQ_OK)
        st = ssq_graph_launch(q, g);
    if (st == SSQ_OK)
        st = ssq_queue_sync(q);
    core_status(st, SSQ_ERR_DEVICE, "kernel unary|(-13)",
                "a graph whose kernel fails");
    fail(0, VK_SUCCESS);
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* ---- the end ---- */

/* Kernels of an abandoned capture are not waited for. */
static void test_closed(void)
{
    ssq_device *dev = open_with("2", 50);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);

    NEED(ssq_graph_begin(q));
    for (size_t i = 0; i < OPS; i++)
        NEED(ops[i](q, SSQ_UNARY(.x = x, .y = x)));
    ssq_queue_destroy(&q);
    ssq_tensor_destroy(&x);
    ssq_device_close(&dev);
    tap_ok(driver.begun < (long)OPS && driver.active == 0,
           "a device that is closed ends the compilers: %ld of %zu kernels",
           driver.begun, OPS);
    tap_ok(driver.live == 0, "and destroys what they made, but %ld",
           driver.live);
}

/* ---- the log ---- */

static void take_line(void *lines, ssq_log_level level, const char *text)
{
    if (level == SSQ_LOG_INFO && core_has(text, "kernels are compiled"))
        __atomic_add_fetch((int *)lines, 1, __ATOMIC_RELAXED);
}

/* sesqui shows this line (tools/progress.c). */
static void test_reported(void)
{
    ssq_device *dev = open_with("1", 800);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    int lines = 0;

    ssq_log_set(take_line, &lines);
    for (size_t i = 0; i < 4; i++)
        NEED(ops[i](q, SSQ_UNARY(.x = x, .y = x)));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev); /* ends the thread that logs */
    ssq_log_set(NULL, NULL);
    tap_ok(lines == 1, "3.2 seconds of compiling are reported by %d line",
           lines);
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    setenv("SSQ_CACHE_PROGRAMS", "0", 1);
    stand_between();
    test_many();
    test_polled();
    test_events();
    test_graph();
    test_fails(VK_ERROR_UNKNOWN, SSQ_ERR_DEVICE,
               "kernel unary|vkCreateComputePipelines|(-13)");
    test_fails(VK_ERROR_OUT_OF_DEVICE_MEMORY, SSQ_ERR_NOMEM,
               "kernel unary|vkCreateComputePipelines|(-2)");
    test_refused();
    test_graph_fails();
    test_closed();
    test_reported();
    return tap_done(36);
}
