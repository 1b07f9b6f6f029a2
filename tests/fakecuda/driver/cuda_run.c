/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_run.c - what a stream's thread does with its work, and which memory that
 * names. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult hold(struct cuda_work *w, uint64_t p, uint64_t bytes)
{
    struct memory *m = fake_memory(p, bytes);

    if (m == NULL || m->freeing)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%#llx, %llu bytes: %s",
                           (unsigned long long)p, (unsigned long long)bytes,
                           m == NULL ? "no allocation has them" : "freed");
    w->held[w->nheld++] = m;
    return CUDA_SUCCESS;
}

/* Memory that is named cannot be freed until the work is done. */
CUresult fake_hold(struct cuda_work *w, CUstream s)
{
    bool bound = w->kind == KERNEL || w->kind == COMPUTE;
    size_t n = bound ? w->nbindings : 2;
    CUresult e = CUDA_SUCCESS;

    (void)s;
    w->held = calloc(n + 1, sizeof(struct memory *));
    if (w->held == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (w->kind == COPY || w->kind == FILL) {
        /* pageable host memory is not an allocation, and is held by the call */
        if (fake_memory(w->to, w->bytes) != NULL)
            e = hold(w, w->to, w->bytes);
        if (e == CUDA_SUCCESS && w->from != 0)
            e = hold(w, w->from, w->bytes);
    }
    if (bound)
        for (size_t i = 0; i < n && e == CUDA_SUCCESS; i++)
            if (w->binding[i].bytes > 0)
                e = hold(w, w->binding[i].base, w->binding[i].bytes);
    if (e != CUDA_SUCCESS)
        w->nheld = 0;
    for (size_t i = 0; i < w->nheld; i++)
        w->held[i]->users++;
    return e;
}

/* Memory of cuMemAllocAsync exists only after its allocation. */
static bool too_early(const struct cuda_work *w, char *why, size_t bytes)
{
    for (size_t i = 0; i < w->nheld; i++)
        if (!fake_done(&w->held[i]->ready)) {
            snprintf(why, bytes,
                     "memory of cuMemAllocAsync is used in another stream, and "
                     "nothing says after its allocation");
            return true;
        }
    return false;
}

/* The ranges of a launch: its bindings, or all that is allocated. */
static struct ptx_range *ranges(const struct cuda_work *w, size_t *n)
{
    size_t count = w->nbindings + 1, k = 0;
    struct ptx_range *r;

    for (const struct memory *m = fake.memory; m != NULL; m = m->next)
        count += !w->bound;
    r = calloc(count, sizeof(*r));
    if (r == NULL)
        return NULL;
    for (size_t i = 0; i < w->nbindings; i++) {
        const struct ssq_standin_range *b = &w->binding[i];
        const struct memory *m = fake_memory(b->base, b->bytes);

        if (b->bytes > 0 && m != NULL)
            r[k++] =
                (struct ptx_range){b->base, b->bytes, b->write != 0, m->shadow};
    }
    for (const struct memory *m = fake.memory; m != NULL && !w->bound;
         m = m->next)
        r[k++] = (struct ptx_range){m->base, m->bytes, true, m->shadow};
    *n = k;
    return r;
}

static CUresult result_of(const char *why)
{
    if (strstr(why, "not aligned") != NULL)
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    if (strstr(why, "address") != NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult run_kernel(struct cuda_work *w, char *why, size_t bytes)
{
    CUfunction f = w->function;
    struct ptx_launch l = {
        .items = w->items, .param = w->param, .param_bytes = w->param_bytes};
    struct ptx_range *r = ranges(w, &l.nrange);
    bool ok, alone = fake.race_mode;

    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l.range = r;
    l.groups = w->groups;
    if (fake.most_groups > 0 && l.groups > fake.most_groups)
        l.groups = fake.most_groups;
    pthread_mutex_unlock(&fake.lock);
    if (alone)
        pthread_mutex_lock(&fake.race);
    ok = ptx_run(f->entry, &l, why, bytes);
    if (alone)
        pthread_mutex_unlock(&fake.race);
    pthread_mutex_lock(&fake.lock);
    free(r);
    f->launches++;
    f->retired += l.retired;
    fake.launches++;
    fake.retired += l.retired;
    return ok ? CUDA_SUCCESS : result_of(why);
}

static void move(const struct cuda_work *w, const struct memory *to,
                 const struct memory *from)
{
    bool alone = fake.race_mode;
    void *p = (void *)(uintptr_t)w->to;

    pthread_mutex_unlock(&fake.lock);
    if (alone)
        pthread_mutex_lock(&fake.race);
    if (w->kind == FILL)
        memset(p, w->value, w->bytes);
    else
        memcpy(p, w->staged != NULL ? w->staged : (void *)(uintptr_t)w->from,
               w->bytes);
    if (to != NULL && from != NULL)
        ptx_shadow_moved(to->shadow, w->to, from->shadow, w->from, w->bytes);
    else if (to != NULL)
        ptx_shadow_wrote(to->shadow, w->to, w->bytes);
    if (alone)
        pthread_mutex_unlock(&fake.race);
    pthread_mutex_lock(&fake.lock);
}

static void compute(const struct cuda_work *w)
{
    bool alone = fake.race_mode;

    pthread_mutex_unlock(&fake.lock);
    if (alone)
        pthread_mutex_lock(&fake.race);
    w->fn(w->param);
    if (alone)
        pthread_mutex_unlock(&fake.race);
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < w->nbindings; i++) {
        const struct ssq_standin_range *r = &w->binding[i];
        const struct memory *m = fake_memory(r->base, r->bytes);

        if (r->write != 0 && m != NULL)
            ptx_shadow_wrote(m->shadow, r->base, r->bytes);
    }
}

static void call_back(const struct cuda_work *w)
{
    pthread_mutex_unlock(&fake.lock);
    fake_in_callback(true);
    w->fn(w->data);
    fake_in_callback(false);
    pthread_mutex_lock(&fake.lock);
}

CUresult fake_run(CUcontext ctx, struct cuda_work *w, char *why, size_t bytes)
{
    (void)ctx;
    if (too_early(w, why, bytes))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    switch (w->kind) {
    case KERNEL:
        return run_kernel(w, why, bytes);
    case COMPUTE:
        compute(w);
        return CUDA_SUCCESS;
    case COPY:
    case FILL:
        move(w, fake_memory(w->to, w->bytes),
             w->kind == COPY && w->staged == NULL
                 ? fake_memory(w->from, w->bytes)
                 : NULL);
        return CUDA_SUCCESS;
    case CALLBACK:
        call_back(w);
        return CUDA_SUCCESS;
    case RECORD:
        if (w->event->at.stream == w->stream &&
            w->event->at.number == w->number) /* not recorded again */
            clock_gettime(CLOCK_MONOTONIC, &w->event->time);
        return CUDA_SUCCESS;
    case FREE:
        if (w->memory->users == 0)
            return CUDA_SUCCESS;
        snprintf(why, bytes, "memory is freed that %u works use",
                 w->memory->users);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case WAIT:
        break;
    }
    return CUDA_SUCCESS;
}

/* A node's work as it will be submitted: its operands are looked up again. */
struct cuda_work *fake_work_copy(const struct cuda_work *w)
{
    struct cuda_work *c = fake_work(w->kind);

    if (c == NULL)
        return NULL;
    *c = *w;
    c->next = NULL;
    c->after = NULL;
    c->nafter = 0;
    c->held = NULL;
    c->nheld = 0;
    c->staged = NULL; /* pageable memory is in no graph */
    c->param = w->param == NULL ? NULL : malloc(w->param_bytes + 1);
    c->binding = w->binding == NULL
                     ? NULL
                     : malloc((w->nbindings + 1) * sizeof(*w->binding));
    if ((w->param != NULL && c->param == NULL) ||
        (w->binding != NULL && c->binding == NULL)) {
        fake_work_free(c);
        return NULL;
    }
    if (c->param != NULL)
        memcpy(c->param, w->param, w->param_bytes);
    if (c->binding != NULL)
        memcpy(c->binding, w->binding, w->nbindings * sizeof(*w->binding));
    return c;
}
