/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - cpu: the processor as a device.
 *
 * Three variables apply where the program has set nothing (sesqui/cpu.h):
 * SSQ_NUM_THREADS; SSQ_CPU_ISA, the best set of instructions that is allowed;
 * and, for tests, SSQ_CPU_TILES (tiles.c). */
#include "backends/cpu/cpu.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number of units into which plans divide work. Sums may be divided by it,
 * so it must not depend on the number of threads, or bits would. */
#define UNITS 16

/* For sets that --with-cpu-isa left out. */
#define NOT_COMPILED                                                           \
    "this library is compiled for " CPU_ISAS " only, which is %s: configure "  \
    "--with-cpu-isa=all"

unsigned cpu_count(struct backend_instance *instance, struct why *reason)
{
    (void)instance;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    /* the kernels of cpu move two 16-bit elements as one word */
    (void)refuse(reason, "cpu needs a little-endian processor");
    return 0;
#else
    struct cpu_features f;
    cpu_features_find(&f);
    if (isa_choose(&f, "") != NULL)
        return 1;
    (void)refuse(reason, NOT_COMPILED, "not what this processor has");
    return 0;
#endif
}

/* The name of a processor ends with blanks, and may begin with them. */
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
    snprintf(text, bytes, "%.*s%s%s%s%s", (int)n, name, n > 0 ? ", " : "",
             isa_choose(&f, "")->name, f.amx_bf16 ? ", amx_bf16" : "",
             f.amx_fp16 ? ", amx_fp16" : "");
}

static ssq_status choose_isa(struct backend_device *d, const char *name)
{
    const char *whose = name == NULL ? "SSQ_CPU_ISA" : "cpu: instructions";
    if (name == NULL)
        name = env_text("SSQ_CPU_ISA");
    cpu_features_find(&d->features);
    d->isa = isa_choose(&d->features, name == NULL ? "" : name);
    if (d->isa != NULL)
        return tiles_choose(&d->tiles, &d->features, d->isa);
    if (name != NULL && name[0] != '\0' && !isa_exists(name))
        return error_set(SSQ_ERR_INVALID,
                         "%s is \"%.32s\": not one of avx512, avx2, plain",
                         whose, name);
    return error_set(SSQ_ERR_UNSUPPORTED, "cpu: " NOT_COMPILED,
                     name == NULL || name[0] == '\0'
                         ? "not what this processor has"
                         : "better than what was asked for");
}

static ssq_status choose_threads(const ssq_cpu_options *o, uint64_t *threads)
{
    *threads = o->threads;
    if (o->threads > 0)
        return SSQ_OK;
    *threads = team_default_size();
    return env_number("SSQ_NUM_THREADS", 1, TEAM_MOST, threads);
}

static ssq_status open_with(const ssq_cpu_options *o,
                            struct backend_device **device)
{
    struct backend_device *d = mem_alloc(sizeof(*d));
    if (d == NULL)
        return error_nomem("cpu", sizeof(*d));
    uint64_t threads = 1;
    ssq_status st = choose_isa(d, o->instructions);
    if (st == SSQ_OK)
        st = choose_threads(o, &threads);
    if (st == SSQ_OK)
        st = scratch_init(&d->scratch);
    if (st != SSQ_OK)
        goto out_free;
    st = tables_init(&d->tables);
    if (st != SSQ_OK)
        goto out_scratch;
    st = team_create((uint32_t)threads, o, &d->team);
    if (st != SSQ_OK)
        goto out_tables;
    *device = d;
    return SSQ_OK;
out_tables:
    tables_destroy(&d->tables);
out_scratch:
    scratch_destroy(&d->scratch);
out_free:
    mem_free(d);
    return st;
}

ssq_status cpu_open(struct backend_instance *instance, unsigned i,
                    struct backend_device **device)
{
    static const ssq_cpu_options none = SSQ_CPU_OPTIONS_INIT;
    (void)instance;
    (void)i;
    return open_with(&none, device);
}

/* The only handle is a program's options, already checked, or NULL. */
ssq_status cpu_open_native(struct backend_instance *instance,
                           const void *const *handles, unsigned *i,
                           struct backend_device **device)
{
    *i = 0;
    return handles[0] == NULL ? cpu_open(instance, 0, device)
                              : open_with(handles[0], device);
}

void cpu_info(const struct backend_device *d, void *info)
{
    ssq_cpu_info x = SSQ_CPU_INFO_INIT;
    x.threads = team_size(d->team);
    x.lent = team_lent(d->team);
    snprintf(x.instructions, sizeof(x.instructions), "%s", d->isa->name);
    *(ssq_cpu_info *)info = x;
}

void cpu_close(struct backend_device *d)
{
    team_destroy(&d->team);
    tables_destroy(&d->tables);
    scratch_destroy(&d->scratch);
    mem_free(d);
}

void cpu_fork_hold(struct backend_device *d)
{
    tables_hold(&d->tables);
    scratch_hold(&d->scratch);
    team_hold(d->team);
}

void cpu_fork_let_go(struct backend_device *d)
{
    team_let_go(d->team);
    scratch_let_go(&d->scratch);
    tables_let_go(&d->tables);
}

static uint64_t cpu_device_host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* The bytes that a launch can address: kernels count elements in 32 bits, some
 * in words of 2 bytes. Larger operands are divided into windows. */
static uint64_t cpu_device_binding_bytes(void)
{
    return (UINT64_C(1) << 32) - CPU_ALIGNMENT;
}

void cpu_props(const struct backend_device *d, ssq_device_props *p)
{
    p->memory_bytes = cpu_device_host_memory();
    p->binding_bytes = cpu_device_binding_bytes();
    p->alignment = CPU_ALIGNMENT;
    p->f16 = SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED |
             SSQ_CAP_ARITHMETIC_EMULATED;
    p->bf16 = p->f16;
    if (d->tiles.kernels != NULL && !d->tiles.model) {
        p->bf16 |= SSQ_CAP_MATRIX;
        p->f16 |= d->tiles.f16 ? SSQ_CAP_MATRIX : 0;
    }
    p->f32_subnormals = d->subnormals;
    p->host_memory = true;
    if (d->tiles.refused)
        snprintf(p->refused, sizeof(p->refused), "amx: %s", d->tiles.why);
}

/* Small buffers share slabs of 16 MiB. The shared memory of a group is on its
 * thread's stack. */
void cpu_limits(const struct backend_device *d, struct backend_limits *l)
{
    l->slab_bytes = 16u << 20;
    l->binding_bytes = cpu_device_binding_bytes();
    l->memory_bytes = cpu_device_host_memory();
    l->whole = true;
    l->group = 1;
    l->units = UNITS;
    l->local_bytes = 256u << 10;
    l->width = d->isa->width;
}

/* A system may disable instructions that the processor has. */
void cpu_identify(const struct backend_device *d, char *text, size_t bytes)
{
    const struct cpu_features *f = &d->features;
    snprintf(text, bytes, "%s\n%s%s%s%s%s", f->model, d->isa->name,
             f->avx512_bf16 ? " avx512_bf16" : "",
             f->amx_bf16 ? " amx_bf16" : "", f->amx_fp16 ? " amx_fp16" : "",
             d->tiles.kernels == NULL ? " no tiles"
             : d->tiles.model         ? " model of tiles"
                                      : "");
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

/* Work is done before a call returns. */
ssq_status cpu_queue_sync(struct backend_queue *queue)
{
    (void)queue;
    return SSQ_OK;
}
