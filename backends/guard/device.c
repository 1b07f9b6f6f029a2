/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the guard device, and the backend's table.
 *
 * Some faults have no effect on a host backend, and fail on this one. For
 * example, a program omits a sync, reads uninitialised memory or uses a device
 * pointer on the host. */

#include "backends/guard/guard.h"

#include <stdio.h>
#include <unistd.h>

#include "backends/reference/reference.h"

/* Store the core's services in a variable for all files of this backend. A
 * module must not have such a variable, but guard is linked into the
 * library. */
static ssq_status guard_device_init(struct backend_instance *instance,
                                    const struct services *services)
{
    (void)instance;
    guard_core = services;
    return SSQ_OK;
}

/* Return 1: the only device is the host. */
static unsigned guard_device_count(struct backend_instance *instance,
                                   struct why *reason)
{
    (void)instance;
    (void)reason;
    return 1;
}

static void guard_device_describe(const struct backend_instance *instance,
                                  unsigned i, char *text, size_t bytes)
{
    (void)instance;
    (void)i;
    snprintf(text, bytes,
             "plain C, emulating a GPU: finds errors of a program");
}

/* Measure whether half of 2^-126 is preserved as a subnormal. Ops run in
 * default modes, so the result depends on the processor and not on the caller.
 * volatile prevents the compiler from computing it in advance. */
static ssq_subnormals guard_device_measure_subnormals(void)
{
    struct fpenv env = fpenv_enter();
    volatile float least = 0x1p-126f;
    volatile float half = least * 0.5f;
    volatile float back = half + half;
    bool kept = back == least;
    fpenv_leave(env);
    return kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
}

/* Create a device without its list of open memory. guard_reserve() allocates
 * that when the first command determines its length. */
static ssq_status guard_device_open(struct backend_instance *instance,
                                    unsigned i, struct backend_device **device)
{
    (void)instance;
    (void)i;
    struct backend_device *d = guard_core->mem_alloc(sizeof(*d));
    if (d == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", sizeof(*d));
    if (pthread_mutex_init(&d->lock, NULL) != 0) {
        guard_core->mem_free(d);
        return guard_core->error_set(SSQ_ERR_NOMEM,
                                     "guard: no memory for a mutex");
    }
    long pages = sysconf(_SC_PHYS_PAGES);
    d->page = (size_t)sysconf(_SC_PAGESIZE);
    d->memory_bytes = pages > 0 ? (uint64_t)pages * d->page : INT64_MAX;
    d->subnormals = guard_device_measure_subnormals();
    *device = d;
    return SSQ_OK;
}

/* No memory is open between two runs, so only the list itself is freed. */
static void guard_device_close(struct backend_device *device)
{
    pthread_mutex_destroy(&device->lock);
    guard_core->mem_free(device->open);
    guard_core->mem_free(device);
}

/* Lock the device while the process is copied. In the child no other thread can
 * then hold the lock or be in the middle of a run. */
static void guard_device_fork_hold(struct backend_device *device)
{
    pthread_mutex_lock(&device->lock);
}

static void guard_device_fork_let_go(struct backend_device *device)
{
    pthread_mutex_unlock(&device->lock);
}

/* f16 and bf16 are stored as 16-bit integers, and computed in float32. */
#define HALF_CAPS                                                              \
    (SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED | SSQ_CAP_ARITHMETIC_EMULATED)

/* Asynchronous, as a GPU: callers must sync before they read results. Memory
 * and arithmetic are the host's. */
static void guard_device_props(const struct backend_device *device,
                               ssq_device_props *properties)
{
    properties->memory_bytes = device->memory_bytes;
    properties->binding_bytes = device->memory_bytes;
    properties->alignment = GUARD_ALIGN;
    properties->f16 = HALF_CAPS;
    properties->bf16 = HALF_CAPS;
    properties->f32_subnormals = device->subnormals;
    properties->host_memory = true;
    properties->asynchronous = true;
}

static void guard_device_limits(const struct backend_device *device,
                                struct backend_limits *limit)
{
    limit->slab_bytes = 0; /* each buffer has a separate mapping */
    limit->binding_bytes = device->memory_bytes;
    limit->memory_bytes = device->memory_bytes;
    limit->whole = true;
}

const struct backend guard_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "guard",
    .preference = 0, /* "auto" never chooses it */
    .single = true,
    .init = guard_device_init,
    .count = guard_device_count,
    .describe = guard_device_describe,
    .open = guard_device_open,
    .close = guard_device_close,
    .fork_hold = guard_device_fork_hold,
    .fork_let_go = guard_device_fork_let_go,
    .props = guard_device_props,
    .limits = guard_device_limits,
    .alloc = guard_alloc,
    .free = guard_free,
    .queue_open = guard_queue_open,
    .queue_close = guard_queue_close,
    .queue_sync = guard_queue_sync,
    .submit = guard_submit,
    .reserve = guard_queue_reserve,
    .completed = guard_completed,
    .failure = guard_queue_failure,
    .event_open = guard_event_open,
    .event_close = guard_event_close,
    .event_record = guard_event_record,
    .event_wait = guard_event_wait,
    .event_query = guard_event_query,
    .event_sync = guard_event_sync,
    .event_elapsed = guard_event_elapsed,
    .ops = &reference_ops,
};
