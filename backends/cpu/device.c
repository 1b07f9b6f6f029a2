/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - cpu: the processor as a device.
 *
 * Two variables change it, for tests above all: SSQ_NUM_THREADS, and
 * SSQ_CPU_ISA with the name of a set of instructions that is not to be
 * exceeded. */
#include "backends/cpu/cpu.h"

#include "lib/core/env.h"
#include "lib/core/error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What plans divide work into. Sums may be divided by it, so that it must not
 * depend on how many threads there are, or bits would. */
#define UNITS 16

unsigned cpu_count(struct backend_instance *instance, struct why *reason)
{
    (void)instance;
    (void)reason;
    return 1;
}

/* The name of a processor ends with blanks, some begin with them. */
void cpu_describe(const struct backend_instance *instance, unsigned i,
                  char *text, size_t bytes)
{
    (void)instance;
    (void)i;
    struct cpu_features f;
    cpu_features_find(&f);
    const char *name = f.model + strspn(f.model, " ");
    size_t n = strlen(name);
    while (n > 0 && name[n - 1] == ' ')
        n--;
    snprintf(text, bytes, "%.*s%s%s", (int)n, name, n > 0 ? ", " : "",
             isa_choose(&f, "")->name);
}

static ssq_status choose_isa(struct backend_device *d)
{
    const char *name = env_text("SSQ_CPU_ISA");
    cpu_features_find(&d->features);
    d->isa = isa_choose(&d->features, name == NULL ? "" : name);
    if (d->isa != NULL)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "SSQ_CPU_ISA is \"%.32s\": not one of avx512, avx2, plain",
                     name);
}

ssq_status cpu_open(struct backend_instance *instance, unsigned i,
                    struct backend_device **device)
{
    (void)instance;
    (void)i;
    struct backend_device *d = mem_alloc(sizeof(*d));
    if (d == NULL)
        return error_nomem("cpu", sizeof(*d));
    uint64_t threads = team_default_size();
    ssq_status st = choose_isa(d);
    if (st == SSQ_OK)
        st = env_number("SSQ_NUM_THREADS", 1, TEAM_MOST, &threads);
    if (st == SSQ_OK)
        st = scratch_init(&d->scratch);
    if (st != SSQ_OK)
        goto out_free;
    st = team_create((uint32_t)threads, &d->team);
    if (st != SSQ_OK)
        goto out_scratch;
    *device = d;
    return SSQ_OK;
out_scratch:
    scratch_destroy(&d->scratch);
out_free:
    mem_free(d);
    return st;
}

void cpu_close(struct backend_device *d)
{
    team_destroy(&d->team);
    scratch_destroy(&d->scratch);
    mem_free(d);
}

void cpu_fork_hold(struct backend_device *d)
{
    scratch_hold(&d->scratch);
    team_hold(d->team);
}

void cpu_fork_let_go(struct backend_device *d)
{
    team_let_go(d->team);
    scratch_let_go(&d->scratch);
}

static uint64_t host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* Kernels count elements in 32 bits. */
static uint64_t binding_bytes(void)
{
    return (UINT64_C(1) << 32) - CPU_ALIGNMENT;
}

void cpu_props(const struct backend_device *d, ssq_device_props *p)
{
    p->memory_bytes = host_memory();
    p->binding_bytes = binding_bytes();
    p->alignment = CPU_ALIGNMENT;
    p->f16 = SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED |
             SSQ_CAP_ARITHMETIC_EMULATED;
    p->bf16 = p->f16;
    p->f32_subnormals = d->subnormals;
    p->host_memory = true;
}

/* Small buffers share slabs of 16 MiB. What a group shares is on its thread's
 * stack. */
void cpu_limits(const struct backend_device *d, struct backend_limits *l)
{
    l->slab_bytes = 16u << 20;
    l->binding_bytes = binding_bytes();
    l->memory_bytes = host_memory();
    l->group = 1;
    l->units = UNITS;
    l->local_bytes = 256u << 10;
    l->width = d->isa->width;
}

void cpu_identify(const struct backend_device *d, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s\n%s", d->features.model, d->isa->name);
}

void cpu_certified(struct backend_device *d, const struct findings *f)
{
    d->subnormals =
        f->subnormals ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
}

ssq_status cpu_queue_open(struct backend_device *device,
                          struct backend_queue **queue)
{
    struct backend_queue *q = mem_alloc(sizeof(*q));
    if (q == NULL)
        return error_nomem("cpu", sizeof(*q));
    q->device = device;
    *queue = q;
    return SSQ_OK;
}

void cpu_queue_close(struct backend_queue *queue)
{
    mem_free(queue);
}

/* Work is done when a call returns. */
ssq_status cpu_queue_sync(struct backend_queue *queue)
{
    (void)queue;
    return SSQ_OK;
}
