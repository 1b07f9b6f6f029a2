/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - build and run plans. */
#include "lib/core/queue/plan.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/window.h"
#include "lib/core/core.h"

#include <string.h>

/* More groups per unit do not run faster. */
#define WAVES_OF_PROCESSOR 4u
#define WAVES_OF_GPU       32u
/* On a CPU, tasks with fewer items cost more than they gain. */
#define LEAST_ITEMS 1024u

/* One buffer of scratch, in a list with the newest first. The plan holds a
 * reference to each buffer. */
struct plan_scratch {
    struct plan_scratch *next;
    ssq_buffer *buffer;
};

/* An entry that the builder recorded: a launch, or host words to upload. */
struct plan_step {
    struct plan_step *next;
    uint32_t *words; /* owned; NULL: a launch */
    union {
        struct upload_op upload;
        struct {
            struct launch launch;
            const struct kernel *kernel;
            uint8_t key[LAUNCH_KEYS];
            /* the scratch that a binding uses, or NULL */
            const ssq_buffer *scratch[LAUNCH_BINDINGS];
        };
    };
};

struct plan {
    struct object object;
    ssq_device *device;
    const char *what;  /* the op's name */
    ssq_status status; /* of the first failure; nothing is recorded after it */
    struct plan_step *first,
        **end;              /* a list; *end is where the next one goes */
    struct plan_step *open; /* the launch under construction */
    struct plan_scratch *scratch;
    uint64_t loops;               /* most iterations of an item */
    const struct kernel *longest; /* the kernel with that item */
};

static void core_plan_free(struct object *o)
{
    struct plan *p = (struct plan *)o;
    for (struct plan_step *s = p->first, *next; s != NULL; s = next) {
        next = s->next;
        mem_free(s->words);
        mem_free(s);
    }
    mem_free(p->open);
    for (struct plan_scratch *s = p->scratch, *next; s != NULL; s = next) {
        next = s->next;
        object_put(&s->buffer->object);
        mem_free(s);
    }
    mem_free(p);
}

ssq_status plan_begin(ssq_device *d, const char *what, struct plan **out)
{
    struct plan *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return error_nomem(what, sizeof(*p));
    object_init(&p->object, core_plan_free);
    p->device = d;
    p->what = what;
    p->end = &p->first;
    *out = p;
    return SSQ_OK;
}

struct object *plan_object(struct plan *p)
{
    return &p->object;
}

const struct backend_limits *plan_limits(const struct plan *p)
{
    return pool_limits(p->device->pool);
}

ssq_status plan_status(const struct plan *p)
{
    return p->status;
}

uint64_t plan_loops(const struct plan *p, const char **kernel)
{
    *kernel = p->longest == NULL ? "" : p->longest->name;
    return p->loops;
}

bool plan_failed(const struct plan *p)
{
    return p->status != SSQ_OK;
}

void plan_fail(struct plan *p, ssq_status st)
{
    if (p->status == SSQ_OK)
        p->status = st;
}

/* Entries run in the order in which they were appended. */
static void plan_append(struct plan *p, struct plan_step *s)
{
    *p->end = s;
    p->end = &s->next;
}

/* Return a zeroed entry. NULL: out of memory; the plan has failed. */
static struct plan_step *plan_step_create(struct plan *p)
{
    struct plan_step *s = mem_alloc(sizeof(*s));
    if (s == NULL)
        plan_fail(p, error_nomem(p->what, sizeof(*s)));
    return s;
}

/* Vulkan's shaders exist in the listed variants only, and other compilers are
 * tested with these. So no device launches other variants. */
static bool plan_listed(const struct kernel *k, const uint8_t *key)
{
    for (uint32_t i = 0; i < k->nvariants; i++)
        if (memcmp(k->variants[i], key, LAUNCH_KEYS) == 0)
            return true;
    return false;
}

void plan_kernel(struct plan *p, enum kernel_id id, const uint8_t *key)
{
    const struct kernel *k = &kernels[id];
    if (plan_failed(p))
        return;
    if (!plan_listed(k, key)) {
        plan_fail(p, error_set(SSQ_ERR_UNSUPPORTED,
                               "%s: kernel %s lists no variant %u %u %u %u %u "
                               "%u",
                               p->what, k->name, key[0], key[1], key[2], key[3],
                               key[4], key[5]));
        return;
    }
    p->open = plan_step_create(p);
    if (p->open == NULL)
        return;
    p->open->kernel = k;
    memcpy(p->open->key, key, LAUNCH_KEYS);
}

void plan_bind_range(struct plan *p, struct backend_mem *mem, uint64_t offset,
                     uint64_t bytes, uint32_t unit, enum access access)
{
    if (plan_failed(p))
        return;
    struct launch *l = &p->open->launch;
    struct binding *b = &l->binding[l->nbindings++];
    if (mem == NULL) {
        *b = l->binding[0];
        b->access = ACCESS_NONE;
        p->open->scratch[b - l->binding] = p->open->scratch[0];
        return;
    }
    *b = (struct binding){.mem = mem,
                          .offset = offset,
                          .bytes = bytes,
                          .unit = unit,
                          .access = access};
}

/* Return true if b is scratch of this plan. Scratch has no memory before
 * plan_place(). */
static bool is_scratch(const struct plan *p, const ssq_buffer *b)
{
    for (const struct plan_scratch *s = p->scratch; s != NULL; s = s->next)
        if (s->buffer == b)
            return true;
    return false;
}

/* Bind the scratch from the beginning of v to the end of the buffer: v often
 * describes only the first of several parts. */
static void bind_scratch(struct plan *p, const struct view *v, uint32_t unit,
                         enum access access)
{
    struct launch *l = &p->open->launch;
    p->open->scratch[l->nbindings] = v->buffer;
    l->binding[l->nbindings++] =
        (struct binding){.offset = v->offset,
                         .bytes = v->buffer->bytes - v->offset,
                         .unit = unit,
                         .access = access};
}

/* Fail if an operand is too large. Builders cut some operands into windows;
 * others are refused here, before anything runs. */
static bool plan_fits(struct plan *p, const struct view *v)
{
    uint64_t limit = plan_limits(p)->binding_bytes;
    char t[160];
    if (window_view_fits(v, limit))
        return true;
    plan_fail(
        p,
        error_set(SSQ_ERR_UNSUPPORTED,
                  "%s: an operand, %s %s, spans %llu bytes and %lld "
                  "elements; a launch takes %llu bytes and %lld "
                  "elements, and this operand is not split",
                  p->what, ssq_dtype_name(v->dtype), view_text(v, t, sizeof(t)),
                  (unsigned long long)view_span(v), (long long)view_elements(v),
                  (unsigned long long)limit, (long long)WINDOW_ELEMENTS));
    return false;
}

void plan_bind_as(struct plan *p, const struct view *v, uint32_t unit,
                  enum access access)
{
    if (plan_failed(p))
        return;
    if (v->buffer != NULL && is_scratch(p, v->buffer)) {
        bind_scratch(p, v, unit, access);
        return;
    }
    struct backend_mem *mem = v->buffer == NULL ? NULL : v->buffer->mem;
    if (!plan_fits(p, v))
        return;
    plan_bind_range(p, mem, mem == NULL ? 0 : v->buffer->offset + v->offset,
                    view_span(v), unit, access);
}

void plan_bind(struct plan *p, const struct view *v, enum access access)
{
    plan_bind_as(p, v, (uint32_t)dtype_bytes(v->dtype), access);
}

/* Return the largest useful number of groups. If the driver limits the loops of
 * an item, it is LAUNCH_GROUPS, so that each item has less to do. */
static uint64_t most_groups(const struct backend_limits *l)
{
    if (l->iterations != 0)
        return LAUNCH_GROUPS;
    uint64_t wanted = (uint64_t)l->units *
                      (limits_processor(l) ? WAVES_OF_PROCESSOR : WAVES_OF_GPU);
    return size_least(wanted, LAUNCH_GROUPS);
}

/* End a launch of `wanted` tasks, each with at most `loops` iterations. If
 * there are more tasks than groups, each group has several. */
static void plan_finish(struct plan *p, const void *args, size_t bytes,
                        uint64_t wanted, uint64_t loops)
{
    struct launch *l = &p->open->launch;
    uint64_t groups = size_least(wanted, most_groups(plan_limits(p)));
    memcpy(l->param, args, bytes);
    l->nwords = (uint32_t)(bytes / sizeof(uint32_t));
    l->groups = (uint32_t)groups;
    loops = loops_of((uint64_t)size_div_up(wanted, groups), loops);
    if (loops > p->loops) {
        p->loops = loops;
        p->longest = p->open->kernel;
    }
    plan_append(p, p->open);
    p->open = NULL;
}

void plan_items(struct plan *p, const void *args, size_t bytes, uint64_t n,
                uint64_t loops)
{
    if (plan_failed(p))
        return;
    const struct backend_limits *l = plan_limits(p);
    uint64_t items = limits_processor(l) ? LEAST_ITEMS : l->group;
    plan_finish(p, args, bytes, (uint64_t)size_div_up(n, items), loops);
}

void plan_groups(struct plan *p, const void *args, size_t bytes, uint64_t n,
                 uint64_t loops)
{
    if (plan_failed(p))
        return;
    plan_finish(p, args, bytes, n, loops);
}

void plan_scratch(struct plan *p, ssq_dtype dtype, uint64_t n,
                  struct view *view)
{
    *view = (struct view){.dtype = dtype,
                          .rank = 1,
                          .access = ACCESS_WRITE,
                          .shape = {(int64_t)n},
                          .stride = {1}};
    if (plan_failed(p))
        return;
    struct plan_scratch *s = mem_alloc(sizeof(*s));
    uint64_t bytes;
    ssq_status st = SSQ_ERR_NOMEM;
    if (s == NULL)
        (void)error_nomem(p->what, sizeof(*s));
    else if (!size_mul(n, dtype_bytes(dtype), &bytes))
        (void)error_set(SSQ_ERR_NOMEM, "%s: no memory has %llu elements",
                        p->what, (unsigned long long)n);
    else if (bytes > plan_limits(p)->binding_bytes)
        st = error_set(SSQ_ERR_UNSUPPORTED,
                       "%s: needs scratch of %llu bytes, a launch takes %llu",
                       p->what, (unsigned long long)bytes,
                       (unsigned long long)plan_limits(p)->binding_bytes);
    else
        st = buffer_declare(p->device, bytes, &s->buffer);
    if (st != SSQ_OK) {
        mem_free(s);
        plan_fail(p, st);
        return;
    }
    s->next = p->scratch;
    p->scratch = s;
    view->buffer = s->buffer;
}

uint32_t *plan_words(struct plan *p, uint64_t n, struct view *view)
{
    plan_scratch(p, SSQ_I32, n, view);
    struct plan_step *s = plan_failed(p) ? NULL : plan_step_create(p);
    if (s == NULL)
        return NULL;
    s->words = mem_alloc_array(n, sizeof(uint32_t));
    if (s->words == NULL) {
        mem_free(s);
        plan_fail(p, error_nomem(p->what, n * sizeof(uint32_t)));
        return NULL;
    }
    struct upload_op op = {.op = OP_HEADER(upload, dst),
                           .host = s->words,
                           .bytes = n * sizeof(uint32_t),
                           .scratch = true,
                           .dst = *view};
    s->upload = op;
    plan_append(p, s);
    return s->words;
}

/* Complete a launch. Scratch was bound before it had memory, with an offset
 * relative to its buffer. Set that memory and add the buffer's offset in it. */
static ssq_status place_launch(const struct plan *p, struct plan_step *s)
{
    for (uint32_t i = 0; i < s->launch.nbindings; i++) {
        const ssq_buffer *b = s->scratch[i];
        if (b == NULL)
            continue;
        s->launch.binding[i].mem = b->mem;
        s->launch.binding[i].offset += b->offset;
    }
    return p->device->backend->kernel_get(p->device->impl, s->kernel, s->key,
                                          &s->launch.code);
}

/* Allocate all scratch before the first launch is placed: a launch may bind any
 * of it. */
ssq_status plan_place(const struct plan *p)
{
    ssq_status st = SSQ_OK;
    for (const struct plan_scratch *s = p->scratch; s != NULL && st == SSQ_OK;
         s = s->next)
        st = buffer_place(s->buffer);
    for (struct plan_step *s = p->first; s != NULL && st == SSQ_OK; s = s->next)
        if (s->words == NULL)
            st = place_launch(p, s);
    return st;
}

ssq_status plan_write(const struct plan *p, const struct backend *backend,
                      struct backend_queue *queue)
{
    ssq_status st = SSQ_OK;
    for (const struct plan_step *s = p->first; s != NULL && st == SSQ_OK;
         s = s->next)
        if (s->words != NULL)
            st = backend->ops->upload[0].run(queue, &s->upload);
    return st;
}

/* launches may be NULL if the caller only needs the number. */
size_t plan_launches(const struct plan *p, const struct launch **launches)
{
    size_t n = 0;
    for (const struct plan_step *s = p->first; s != NULL; s = s->next) {
        if (s->words != NULL)
            continue;
        if (launches != NULL)
            launches[n] = &s->launch;
        n++;
    }
    return n;
}

/* Upload the words first: a launch may read any of them. */
ssq_status plan_run(const struct plan *p, const struct backend *backend,
                    struct backend_queue *queue)
{
    ssq_status st = plan_write(p, backend, queue);
    for (const struct plan_step *s = p->first; s != NULL && st == SSQ_OK;
         s = s->next)
        if (s->words == NULL)
            st = backend->launch(queue, &s->launch);
    return st;
}
