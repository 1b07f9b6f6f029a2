/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - pipelines, and the threads that make them.
 *
 *     WAITING -> BUILDING -> READY
 *                   |  ^
 *                   v  |
 *                  FAILED
 *
 * A driver compiles a kernel in some milliseconds or in seconds. A training
 * step uses many kernels, so several are compiled at the same time, while the
 * program enqueues its next calls. The commands of a queue stay in a list until
 * their pipelines are ready (record.c).
 *
 * A thread that waits for a kernel that failed makes it once more itself: if
 * memory was short for a moment, it succeeds, and otherwise the error text is
 * set in the thread that needs it. */
#define _GNU_SOURCE 1 /* sched_getaffinity, pthread_setname_np */

#include "backends/vulkan/vulkan.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "backends/common/room.h"
#include "lib/core/base/fpenv.h"

/** Nanoseconds of compiling after which the log reports it, and reports it
 * again: a first step that waits longer needs an explanation. */
#define REPORT_NS UINT64_C(2000000000)
/** Address space that each compile thread needs: its stack, what malloc
 * reserves for it (see room.c), and the compiler's memory. */
#define THREAD_BYTES ((UINT64_C(136) << 20) + ROOM_TO_COMPILE)

unsigned vulkan_compile_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0
                ? CPU_COUNT(&set)
                : (int)VULKAN_THREADS; /* more than a set can count */
    /* the program's own thread waits, so one processor needs no other thread */
    return n < 2 ? 0u : n < (int)VULKAN_THREADS ? (unsigned)n : VULKAN_THREADS;
}

/** Counts of a device, for the log. */
struct compile_report {
    uint64_t ns; /* in which at least one thread compiled */
    unsigned compiled, left;
};

static uint64_t compile_clock(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- one pipeline ---- */

/* "vulkan: kernel unary KIND=3: vkCreateShaderModule: ..." */
static ssq_status named_error(const struct services *core, const char *name,
                              const char *call, VkResult e)
{
    ssq_status st = vulkan_error(core, call, e);
    return core->error_set(st, "vulkan: kernel %s: %s: %s (%d)", name, call,
                           vulkan_result_name(e), (int)e);
}

/** A variant's keys, as the specialization constants of the pipeline: key i is
 * constant i. A module has only the keys that the line `constants:` of its
 * source names. The driver ignores the others. */
struct compile_constants {
    uint32_t value[LAUNCH_KEYS];
    VkSpecializationMapEntry entry[LAUNCH_KEYS];
    VkSpecializationInfo info;
};

static void compile_specialize(struct compile_constants *c,
                               const struct kernel_map_entry *e)
{
    for (uint32_t i = 0; i < LAUNCH_KEYS; i++) {
        c->value[i] = e->key[i];
        c->entry[i] = (VkSpecializationMapEntry){
            i, i * (uint32_t)sizeof(c->value[0]), sizeof(c->value[0])};
    }
    c->info = (VkSpecializationInfo){LAUNCH_KEYS, c->entry, sizeof(c->value),
                                     c->value};
}

/* Create the pipeline. The driver copies the words into the shader module. */
static ssq_status compile_pipeline(struct backend_device *d,
                                   struct backend_kernel *k, const char *name)
{
    VkShaderModule shader;
    const VkShaderModuleCreateInfo words = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = k->bytes,
        .pCode = k->words};
    VkResult r = VK(CreateShaderModule)(d->vk, &words, NULL, &shader);
    if (r != VK_SUCCESS)
        return named_error(d->core, name, "vkCreateShaderModule", r);
    struct compile_constants constants;
    compile_specialize(&constants, &k->entry);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main",
                  .pSpecializationInfo = &constants.info},
        .layout = d->layout,
        .basePipelineIndex = -1};
    r = VK(CreateComputePipelines)(d->vk, d->cache, 1, &info, NULL,
                                   &k->pipeline);
    VK(DestroyShaderModule)(d->vk, shader, NULL);
    return r == VK_SUCCESS
               ? SSQ_OK
               : named_error(d->core, name, "vkCreateComputePipelines", r);
}

/* Count a pipeline that was made. *report: the counts, if the log must report
 * them; else its ns is 0. With the lock. */
static void compile_count(struct vulkan_compile *c,
                          struct compile_report *report)
{
    uint64_t now = compile_clock();
    c->compiled++;
    c->ns += now - c->since;
    c->since = now;
    c->active--;
    *report = (struct compile_report){0};
    if (c->ns - c->reported < REPORT_NS)
        return;
    c->reported = c->ns;
    *report =
        (struct compile_report){c->ns, c->compiled, c->active + c->waiting};
}

/* Called without a lock. */
static void compile_log(const struct services *core, const char *name,
                        uint64_t ns, const struct compile_report *report)
{
    core->log_line(SSQ_LOG_DEBUG, "vulkan", "kernel %s: compiled in %.1f ms",
                   name, (double)ns / 1e6);
    if (report->ns != 0)
        core->log_line(SSQ_LOG_INFO, "vulkan",
                       "%u kernels are compiled, in %.1f s so far, and %u are "
                       "left",
                       report->compiled, (double)report->ns / 1e9,
                       report->left);
}

/* Make the pipeline of a kernel whose state is BUILDING, if there is memory
 * that a driver's compiler may need: some end the process where there is none.
 * logs: the caller holds no lock, so that the log may be called. */
static ssq_status compile_build(struct backend_device *d,
                                struct backend_kernel *k, bool logs)
{
    struct vulkan_compile *c = &d->compile;
    char name[96];
    struct why why;
    ssq_status st;
    struct compile_report report;
    uint64_t begin = compile_clock();
    kernel_map_name(k->entry.kernel, k->entry.key, name, sizeof(name));
    pthread_mutex_lock(&c->lock);
    if (c->active++ == 0)
        c->since = begin;
    uint64_t room = c->active * ROOM_TO_COMPILE;
    pthread_mutex_unlock(&c->lock);
    if (room_for_bytes(room, "vkCreateComputePipelines", &why))
        st = compile_pipeline(d, k, name);
    else
        st = d->core->error_set(SSQ_ERR_NOMEM, "vulkan: kernel %s: %s", name,
                                why.text);
    if (st == SSQ_OK) { /* else they are needed once more */
        d->core->mem_free(k->words);
        k->words = NULL;
    }
    uint64_t ns = compile_clock() - begin;
    pthread_mutex_lock(&c->lock);
    compile_count(c, &report);
    atomic_store_explicit(&k->state,
                          st == SSQ_OK ? KERNEL_READY : KERNEL_FAILED,
                          memory_order_release);
    pthread_cond_broadcast(&c->built);
    pthread_mutex_unlock(&c->lock);
    if (logs)
        compile_log(d->core, name, ns, &report);
    return st;
}

ssq_status vulkan_compile_now(struct backend_device *d,
                              struct backend_kernel *k)
{
    /* no other thread has seen the kernel yet */
    atomic_store_explicit(&k->state, KERNEL_BUILDING, memory_order_relaxed);
    return compile_build(d, k, true);
}

/* ---- threads ---- */

static void *compile_run(void *device)
{
    struct backend_device *d = device;
    struct vulkan_compile *c = &d->compile;
    /* drivers compute constants: with the default modes */
    struct fpenv env = fpenv_enter();
    (void)pthread_setname_np(pthread_self(), "sesqui-vulkan");
    pthread_mutex_lock(&c->lock);
    for (;;) {
        c->idle++;
        while (!c->over && c->first == NULL)
            pthread_cond_wait(&c->wanted, &c->lock);
        c->idle--;
        if (c->over)
            break;
        struct backend_kernel *k = c->first;
        c->first = k->next;
        c->waiting--;
        atomic_store_explicit(&k->state, KERNEL_BUILDING, memory_order_relaxed);
        pthread_mutex_unlock(&c->lock);
        (void)compile_build(d, k, true); /* a failure is in the state */
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    fpenv_leave(env);
    return NULL;
}

/* Start the nth thread, if there is memory for n of them. Signals must reach
 * the program's own threads only. */
static bool compile_start(unsigned n, pthread_t *thread, void *(*fn)(void *),
                          void *arg)
{
    sigset_t all, before;
    struct why why;
    if (!room_for_bytes(n * THREAD_BYTES, "a thread", &why))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, NULL, fn, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool vulkan_compile_later(struct backend_device *d, struct backend_kernel *k)
{
    struct vulkan_compile *c = &d->compile;
    if (c->most == 0)
        return false;
    pthread_mutex_lock(&c->lock);
    /* one more thread, if it would have work */
    if (c->idle <= c->waiting && c->nthreads < c->most &&
        compile_start(c->nthreads + 1, &c->thread[c->nthreads], compile_run, d))
        c->nthreads++;
    bool later = c->nthreads > 0;
    if (later) {
        atomic_store_explicit(&k->state, KERNEL_WAITING, memory_order_relaxed);
        k->next = NULL;
        if (c->first == NULL)
            c->first = k;
        else
            c->last->next = k;
        c->last = k;
        c->waiting++;
        pthread_cond_signal(&c->wanted);
    }
    pthread_mutex_unlock(&c->lock);
    return later;
}

bool vulkan_compile_ready(const struct backend_kernel *k)
{
    return atomic_load_explicit(&k->state, memory_order_acquire) ==
           KERNEL_READY;
}

bool vulkan_compile_failed(const struct backend_kernel *k)
{
    return atomic_load_explicit(&k->state, memory_order_acquire) ==
           KERNEL_FAILED;
}

ssq_status vulkan_compile_wait(struct backend_device *d,
                               const struct backend_kernel *code)
{
    struct vulkan_compile *c = &d->compile;
    /* launches must not change a kernel, but its state may change */
    struct backend_kernel *k = (struct backend_kernel *)(uintptr_t)code;
    if (vulkan_compile_ready(k))
        return SSQ_OK;
    pthread_mutex_lock(&c->lock);
    while (!vulkan_compile_ready(k) && !vulkan_compile_failed(k))
        pthread_cond_wait(&c->built, &c->lock);
    bool failed = vulkan_compile_failed(k);
    if (failed)
        atomic_store_explicit(&k->state, KERNEL_BUILDING, memory_order_relaxed);
    pthread_mutex_unlock(&c->lock);
    return failed ? compile_build(d, k, false) : SSQ_OK;
}

/* ---- two at a time ---- */

struct compile_call {
    void (*fn)(void *);
    void *arg;
};

static void *compile_call_run(void *call)
{
    const struct compile_call *c = call;
    struct fpenv env = fpenv_enter();
    c->fn(c->arg);
    fpenv_leave(env);
    return NULL;
}

void vulkan_compile_both(const struct backend_device *d, void (*fn)(void *),
                         void *one, void *two)
{
    struct compile_call call = {fn, one};
    pthread_t thread;
    bool started =
        d->threads > 0 && compile_start(2, &thread, compile_call_run, &call);
    if (!started)
        fn(one);
    fn(two);
    if (started)
        pthread_join(thread, NULL);
}

/* ---- of a device ---- */

ssq_status vulkan_compile_open(struct backend_device *d)
{
    struct vulkan_compile *c = &d->compile;
    if (pthread_mutex_init(&c->lock, NULL) != 0)
        return vulkan_no_memory(d->core, sizeof(c->lock));
    if (pthread_cond_init(&c->wanted, NULL) != 0) {
        pthread_mutex_destroy(&c->lock);
        return vulkan_no_memory(d->core, sizeof(c->wanted));
    }
    if (pthread_cond_init(&c->built, NULL) != 0) {
        pthread_cond_destroy(&c->wanted);
        pthread_mutex_destroy(&c->lock);
        return vulkan_no_memory(d->core, sizeof(c->built));
    }
    return SSQ_OK;
}

void vulkan_compile_close(struct backend_device *d)
{
    struct vulkan_compile *c = &d->compile;
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_broadcast(&c->wanted);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->nthreads; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->built);
    pthread_cond_destroy(&c->wanted);
    pthread_mutex_destroy(&c->lock);
}
