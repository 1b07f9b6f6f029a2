/* SPDX-License-Identifier: Apache-2.0 */
/* module_fake.c - a backend module for tests: two devices, few ops.
 *
 * It imports no symbol of the library. Its memory is not the host's to see
 * (host is NULL), and besides copies from and to the host it only fills: the
 * rest is for the core to refuse, or to run on the host when asked.
 *
 * In the environment, FAKE_DIES and FAKE_HANGS say how the thread that fills
 * ends; FAKE_SLOW makes it take 20 ms, and FAKE_OPEN_DIES ends a process that
 * opens a device.
 *
 * FAKE_ABI: the number it claims. FAKE_NAME: whose place it takes.
 * FAKE_NO_SYMBOL: exports something else. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/core.h"

#ifndef FAKE_ABI
#define FAKE_ABI SSQ_BACKEND_ABI
#endif
#ifndef FAKE_NAME
#define FAKE_NAME "cuda"
#endif

struct backend_instance {
    const struct services *core;
};

struct backend_device {
    const struct services *core;
    unsigned index;
};

struct backend_queue {
    struct backend_device *device;
};

struct backend_event {
    const struct services *core;
    int recorded;
};

struct fake_mem {
    struct backend_mem mem;
    char *bytes;
};

static ssq_status no_memory(const struct services *core)
{
    return core->error_set(SSQ_ERR_NOMEM, "fake: no host memory");
}

static ssq_status init(struct backend_instance *instance,
                       const struct services *services)
{
    instance->core = services;
    if (getenv("FAKE_INIT_FAILS") != NULL)
        return services->error_set(SSQ_ERR_DEVICE,
                                   "fake: driver version %d is "
                                   "older than %d",
                                   3, 7);
    return SSQ_OK;
}

static unsigned count(struct backend_instance *instance, struct why *reason)
{
    (void)instance;
    if (getenv("FAKE_NO_DEVICES") == NULL)
        return 2;
    if (strcmp(getenv("FAKE_NO_DEVICES"), "silent") != 0)
        snprintf(reason->text, sizeof(reason->text),
                 "fake: no processor found");
    return 0;
}

static void describe(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes)
{
    (void)instance;
    snprintf(text, bytes, "fake processor %u", i);
}

static ssq_status open_device(struct backend_instance *instance, unsigned i,
                              struct backend_device **device)
{
    const struct services *core = instance->core;
    struct backend_device *d = core->mem_alloc(sizeof(*d));

    if (getenv("FAKE_OPEN_DIES") != NULL)
        abort();
    if (d == NULL)
        return no_memory(core);
    d->core = core;
    d->index = i;
    *device = d;
    return SSQ_OK;
}

static void close_device(struct backend_device *device)
{
    device->core->mem_free(device);
}

static void props(const struct backend_device *device, ssq_device_props *p)
{
    p->memory_bytes = 1000 + device->index;
    p->alignment = 256;
}

static void limits(const struct backend_device *device,
                   struct backend_limits *l)
{
    (void)device;
    l->slab_bytes = 4096;
    l->binding_bytes = 1 << 20;
    l->memory_bytes = 1000;
}

static ssq_status alloc(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem)
{
    const struct services *core = device->core;
    struct fake_mem *m = core->mem_alloc(sizeof(*m));

    if (m == NULL)
        return no_memory(core);
    m->bytes = core->mem_alloc(bytes);
    if (m->bytes == NULL) {
        core->mem_free(m);
        return no_memory(core);
    }
    m->mem.bytes = bytes;
    *mem = &m->mem;
    return SSQ_OK;
}

static void free_mem(struct backend_device *device, struct backend_mem *mem)
{
    struct fake_mem *m = (struct fake_mem *)mem;

    device->core->mem_free(m->bytes);
    device->core->mem_free(m);
}

static void identify(const struct backend_device *device, char *text,
                     size_t bytes)
{
    snprintf(text, bytes, "fake processor %u", device->index);
}

static ssq_status queue_open(struct backend_device *device,
                             struct backend_queue **queue)
{
    struct backend_queue *q = device->core->mem_alloc(sizeof(*q));

    if (q == NULL)
        return no_memory(device->core);
    q->device = device;
    *queue = q;
    return SSQ_OK;
}

static void queue_close(struct backend_queue *queue)
{
    queue->device->core->mem_free(queue);
}

static ssq_status queue_sync(struct backend_queue *queue)
{
    (void)queue;
    return SSQ_OK;
}

static ssq_status event_open(struct backend_device *device,
                             struct backend_event **event)
{
    *event = device->core->mem_alloc(sizeof(**event));
    if (*event == NULL)
        return no_memory(device->core);
    (*event)->core = device->core;
    return SSQ_OK;
}

static void event_close(struct backend_event *event)
{
    event->core->mem_free(event);
}

static ssq_status event_record(struct backend_event *event,
                               struct backend_queue *queue)
{
    (void)queue;
    event->recorded = 1;
    return SSQ_OK;
}

static ssq_status event_wait(struct backend_queue *queue,
                             struct backend_event *event)
{
    (void)queue;
    (void)event;
    return SSQ_OK;
}

static ssq_status event_done(struct backend_event *event)
{
    (void)event;
    return SSQ_OK;
}

static ssq_status event_elapsed(struct backend_event *from,
                                struct backend_event *to, double *seconds)
{
    (void)from;
    (void)to;
    *seconds = 0;
    return SSQ_OK;
}

static char *place(const struct view *v)
{
    struct fake_mem *m = (struct fake_mem *)v->buffer->mem;

    return m->bytes + v->buffer->offset + v->offset;
}

static ssq_status upload(struct backend_queue *queue,
                         const struct upload_op *op)
{
    (void)queue;
    memcpy(place(&op->dst), op->host != NULL ? op->host : op->inlined,
           op->bytes);
    return SSQ_OK;
}

static ssq_status download(struct backend_queue *queue,
                           const struct download_op *op)
{
    (void)queue;
    memcpy(op->host, place(&op->src), op->bytes);
    return SSQ_OK;
}

/* Only dense f32 vectors: so that a refusal has a reason. */
static bool fill_check(const struct backend_device *device,
                       const struct fill_op *op, struct why *why)
{
    struct why unused;

    (void)device;
    why = why != NULL ? why : &unused;
    if (op->y.dtype != SSQ_F32)
        snprintf(why->text, sizeof(why->text), "dtype %d is not f32",
                 (int)op->y.dtype);
    else if (op->y.rank != 1 || op->y.stride[0] != 1)
        snprintf(why->text, sizeof(why->text),
                 "rank %d or its strides are not those of a dense vector",
                 op->y.rank);
    else
        return true;
    return false;
}

static ssq_status fill(struct backend_queue *queue, const struct fill_op *op)
{
    (void)queue;
    if (getenv("FAKE_DIES") != NULL)
        abort();
    while (getenv("FAKE_HANGS") != NULL)
        pause();
    if (getenv("FAKE_SLOW") != NULL)
        usleep(20000);
    for (int64_t i = 0; i < op->y.shape[0]; i++)
        memcpy(place(&op->y) + 4 * i, &op->bits, 4);
    return SSQ_OK;
}

/* A second implementation, for a few elements. */
static bool few_check(const struct backend_device *device,
                      const struct fill_op *op, struct why *why)
{
    if (!fill_check(device, op, why))
        return false;
    if (op->y.shape[0] <= 4)
        return true;
    if (why != NULL)
        snprintf(why->text, sizeof(why->text), "%d elements are more than 4",
                 (int)op->y.shape[0]);
    return false;
}

static const struct upload_impl uploads[] = {{.name = "memcpy", .run = upload},
                                             {.name = NULL}};
static const struct download_impl downloads[] = {
    {.name = "memcpy", .run = download}, {.name = NULL}};
static const struct fill_impl fills[] = {
    {.name = "vector", .check = fill_check, .run = fill},
    {.name = "few", .check = few_check, .run = fill},
    {.name = NULL}};

static const struct op_table ops = {
    .upload = uploads, .download = downloads, .fill = fills};

static const struct backend fake = {
    .abi = FAKE_ABI,
    .name = FAKE_NAME,
    .preference = 0,
    .instance_bytes = sizeof(struct backend_instance),
    .init = init,
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .props = props,
    .limits = limits,
    .alloc = alloc,
    .free = free_mem,
    .identify = identify,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .queue_sync = queue_sync,
    .event_open = event_open,
    .event_close = event_close,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_done,
    .event_sync = event_done,
    .event_elapsed = event_elapsed,
    .ops = &ops,
};

static const struct backend *entry(uint32_t abi)
{
    (void)abi; /* the core compares */
    return &fake;
}

#ifdef FAKE_NO_SYMBOL
#define ssq_backend_module some_other_symbol
#endif
extern SSQ_API const backend_module_fn ssq_backend_module;
const backend_module_fn ssq_backend_module = entry;
