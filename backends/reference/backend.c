/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - reference: the device and its queues.
 *
 * A call returns when its work is done, so a queue contains nothing. */
#include "backends/reference/reference.h"

#include "lib/core/base/error.h"
#include "lib/core/base/fpenv.h"

#include <stdio.h>
#include <unistd.h>

struct backend_device {
    ssq_subnormals subnormals;
};

struct backend_queue {
    struct backend_device *device;
};

static unsigned count_devices(struct backend_instance *instance,
                              struct why *reason)
{
    (void)instance;
    (void)reason;
    return 1;
}

static void describe_device(const struct backend_instance *instance, unsigned i,
                            char *text, size_t bytes)
{
    (void)instance;
    (void)i;
    snprintf(text, bytes, "plain C: defines what is correct");
}

/* Measure whether float32 arithmetic of this host preserves subnormals in the
 * library's modes. volatile prevents the compiler from computing it in
 * advance. */
static ssq_subnormals measure_subnormals(void)
{
    struct fpenv env = fpenv_enter();
    volatile float least = 1.17549435e-38f;
    volatile float half = least * 0.5f, again = half * 2.0f;
    bool kept = half != 0.0f && again == least; /* compared before
                                                   fpenv_leave(): no DAZ */
    fpenv_leave(env);
    return kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
}

static ssq_status open_device(struct backend_instance *instance, unsigned i,
                              struct backend_device **device)
{
    (void)instance;
    (void)i;
    struct backend_device *d = mem_alloc(sizeof(*d));
    if (d == NULL)
        return error_nomem("reference", sizeof(*d));
    d->subnormals = measure_subnormals();
    *device = d;
    return SSQ_OK;
}

static void close_device(struct backend_device *device)
{
    mem_free(device);
}

/* Do nothing: calls share no state of this backend, so the core's locks are
 * enough. */
static void fork_nothing(struct backend_device *device)
{
    (void)device;
}

/* Return the bytes of physical memory, or 0 if the system does not report them.
 * An allocation may succeed or fail regardless of this number. */
static uint64_t host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* f16 and bf16 are stored as 16-bit integers, and computed in float32.
 * p->asynchronous stays false: calls return when their work is done. */
static void device_props(const struct backend_device *device,
                         ssq_device_props *p)
{
    p->memory_bytes = host_memory();
    p->binding_bytes = host_memory();
    p->alignment = REFERENCE_ALIGNMENT;
    p->f16 = SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED |
             SSQ_CAP_ARITHMETIC_EMULATED;
    p->bf16 = p->f16;
    p->f32_subnormals = device->subnormals;
    p->host_memory = true;
}

/* Set the limits. The fields of launches stay 0, because this backend runs no
 * kernels. Small buffers share slabs of 16 MiB. */
static void device_limits(const struct backend_device *device,
                          struct backend_limits *l)
{
    (void)device;
    l->slab_bytes = 16u << 20;
    l->binding_bytes = host_memory();
    l->memory_bytes = host_memory();
    l->whole = true;
}

static ssq_status open_queue(struct backend_device *device,
                             struct backend_queue **queue)
{
    struct backend_queue *q = mem_alloc(sizeof(*q));
    if (q == NULL)
        return error_nomem("reference", sizeof(*q));
    q->device = device;
    *queue = q;
    return SSQ_OK;
}

static void close_queue(struct backend_queue *queue)
{
    mem_free(queue);
}

static ssq_status sync_queue(struct backend_queue *queue)
{
    (void)queue;
    return SSQ_OK;
}

/* The list of each op has the op's name, so an op without a reference does not
 * link. */
const struct op_table reference_ops = {
#define X(NAME, ...) .NAME = reference_##NAME,
    SSQ_OPS(X)
#undef X
        .gemm_explain = reference_gemm_explain,
};

extern const struct backend reference_backend;
const struct backend reference_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "reference",
    .preference = 1,
    .single = true,
    .count = count_devices,
    .describe = describe_device,
    .open = open_device,
    .close = close_device,
    .fork_hold = fork_nothing,
    .fork_let_go = fork_nothing,
    .props = device_props,
    .limits = device_limits,
    .alloc = reference_alloc,
    .free = reference_free,
    .import = reference_import,
    .mem_handle = reference_mem_handle,
    .mem_addressed = true,
    .queue_open = open_queue,
    .queue_close = close_queue,
    .queue_sync = sync_queue,
    .event_open = reference_event_open,
    .event_close = reference_event_close,
    .event_record = reference_event_record,
    .event_wait = reference_event_wait,
    .event_query = reference_event_finished,
    .event_sync = reference_event_finished,
    .event_elapsed = reference_event_elapsed,
    .ops = &reference_ops,
};
