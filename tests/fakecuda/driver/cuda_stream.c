/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_stream.c - streams: threads that take their work in order.
 *
 * A context's own stream (NULL, or CU_STREAM_LEGACY) waits for the work that
 * all streams without CU_STREAM_NON_BLOCKING have before it, and they wait for
 * it. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_error(CUcontext ctx, CUresult result, const char *text)
{
    snprintf(fake.text, sizeof(fake.text), "%s", text);
    if (!fake.quiet)
        fprintf(stderr, "fakecuda: %s\n", text);
    if (ctx->error == CUDA_SUCCESS)
        ctx->error = result;
}

bool fake_done(const struct point *p)
{
    return p->stream == NULL || p->stream->done >= p->number;
}

CUresult fake_wait(CUcontext ctx, struct point p)
{
    while (!fake_done(&p))
        pthread_cond_wait(&fake.moved, &fake.lock);
    return ctx->error;
}

CUresult fake_wait_all(CUcontext ctx)
{
    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next)
        if (o->kind == STREAM && o->ctx == ctx) {
            CUstream s = (CUstream)o;

            fake_wait(ctx, (struct point){s, s->submitted});
        }
    return ctx->error;
}

struct cuda_work *fake_work(enum work_kind kind)
{
    struct cuda_work *w = calloc(1, sizeof(*w));

    if (w != NULL)
        w->kind = kind;
    return w;
}

void fake_work_free(struct cuda_work *w)
{
    if (w == NULL)
        return;
    free(w->after);
    free(w->param);
    free(w->binding);
    free(w->staged);
    free(w->held);
    free(w);
}

static bool ready(const struct cuda_work *w)
{
    for (size_t i = 0; i < w->nafter; i++)
        if (!fake_done(&w->after[i]))
            return false;
    return true;
}

/* The end of a work, done or skipped after an error. */
static void finish(CUstream s, struct cuda_work *w)
{
    for (size_t i = 0; i < w->nheld; i++)
        w->held[i]->users--;
    if (w->kind == KERNEL)
        w->function->module->users--;
    if (w->kind == FREE && w->memory->users == 0)
        fake_memory_end(w->memory);
    s->done = w->number;
    fake_work_free(w);
    pthread_cond_broadcast(&fake.moved);
}

static void *serve(void *arg)
{
    CUstream s = arg;

    pthread_mutex_lock(&fake.lock);
    for (;;) {
        struct cuda_work *w = s->first;
        CUcontext ctx = s->object.ctx;
        char why[1024] = "";
        CUresult e;

        if (w == NULL && s->object.dead)
            break;
        if (w == NULL || !ready(w)) {
            pthread_cond_wait(&fake.moved, &fake.lock);
            continue;
        }
        s->first = w->next;
        if (s->first == NULL)
            s->last = NULL;
        e = ctx->error == CUDA_SUCCESS ? fake_run(ctx, w, why, sizeof(why))
                                       : ctx->error;
        if (e != CUDA_SUCCESS && ctx->error == CUDA_SUCCESS)
            fake_error(ctx, e, why);
        finish(s, w);
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

static CUresult make(unsigned flags, CUstream *out)
{
    CUstream s = fake_object(STREAM, sizeof(*s));

    if (s == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->flags = flags;
    s->running = pthread_create(&s->thread, NULL, serve, s) == 0;
    if (!s->running) {
        s->object.dead = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = s;
    return CUDA_SUCCESS;
}

CUresult fake_stream(CUstream handle, CUstream *s)
{
    CUcontext ctx = fake_current();
    CUresult e = CUDA_SUCCESS;

    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        if (ctx->legacy == NULL)
            e = make(0, &ctx->legacy);
        *s = ctx->legacy;
        return e;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return fake_refuse(CUDA_ERROR_NOT_SUPPORTED,
                           "the stand-in has no streams of threads");
    e = fake_check(handle, STREAM, "stream");
    if (e == CUDA_SUCCESS && handle->object.ctx != ctx)
        e = fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                        "the stream is of another context");
    if (e == CUDA_SUCCESS)
        *s = handle;
    return e;
}

/* The thread ends when its work is done; the caller may wait or not. */
void fake_stream_end(CUstream s)
{
    s->object.dead = true;
    pthread_cond_broadcast(&fake.moved);
    fake_wait(s->object.ctx, (struct point){s, s->submitted});
    pthread_mutex_unlock(&fake.lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&fake.lock);
}

/* Points that w waits for beside its own stream. */
static bool await(struct cuda_work *w, struct point p)
{
    struct point *after;

    if (fake_done(&p))
        return true;
    after = realloc(w->after, (w->nafter + 1) * sizeof(*after));
    if (after == NULL)
        return false;
    w->after = after;
    after[w->nafter++] = p;
    return true;
}

/* The order between a context's own stream and the others. */
static bool implicit(CUstream s, struct cuda_work *w)
{
    CUstream legacy = s->object.ctx->legacy;
    bool ok = true;

    if (legacy == NULL || (s->flags & CU_STREAM_NON_BLOCKING) != 0)
        return true;
    if (s != legacy)
        return await(w, (struct point){legacy, legacy->submitted});
    for (struct cuda_object *o = fake.objects; o != NULL && ok; o = o->next) {
        CUstream t = (CUstream)o;

        if (o->kind == STREAM && o->ctx == s->object.ctx && t != s &&
            (t->flags & CU_STREAM_NON_BLOCKING) == 0)
            ok = await(w, (struct point){t, t->submitted});
    }
    return ok;
}

CUresult fake_submit(CUstream s, struct cuda_work *w)
{
    CUresult e;

    if (s->capture != NULL)
        return fake_capture(s, w);
    e = fake_implicit(s);
    if (e != CUDA_SUCCESS)
        fake_refuse(e, "the default stream while another is captured");
    else
        e = implicit(s, w) ? fake_hold(w, s) : CUDA_ERROR_OUT_OF_MEMORY;
    if (e != CUDA_SUCCESS) {
        fake_work_free(w);
        return e;
    }
    if (w->kind == KERNEL)
        w->function->module->users++;
    w->stream = s;
    w->number = ++s->submitted;
    if (s->last == NULL)
        s->first = w;
    else
        s->last->next = w;
    s->last = w;
    pthread_cond_broadcast(&fake.moved);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
    CUresult e = fake_enter("cuStreamCreate", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    if (s == NULL || flags > CU_STREAM_NON_BLOCKING)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    return fake_leave(make(flags, s));
}

CUresult cuStreamDestroy_v2(CUstream s)
{
    CUresult e = fake_enter("cuStreamDestroy_v2", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(s, STREAM, "stream");
    if (e == CUDA_SUCCESS && s->capture != NULL)
        e = fake_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                        "the stream is being captured");
    if (e == CUDA_SUCCESS) {
        s->object.dead = true;
        pthread_detach(s->thread);
        pthread_cond_broadcast(&fake.moved);
    }
    return fake_leave(e);
}

/* Waiting and asking are not work: a capture cannot contain them. */
static CUresult not_captured(CUstream s)
{
    if (s->capture == NULL)
        return CUDA_SUCCESS;
    s->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult cuStreamSynchronize(CUstream s)
{
    CUresult e = fake_enter("cuStreamSynchronize", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = not_captured(s);
    if (e == CUDA_SUCCESS)
        e = fake_unsafe("cuStreamSynchronize");
    if (e == CUDA_SUCCESS)
        e = fake_wait(s->object.ctx, (struct point){s, s->submitted});
    return fake_leave(e);
}

CUresult cuStreamQuery(CUstream s)
{
    CUresult e = fake_enter("cuStreamQuery", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = not_captured(s);
    if (e == CUDA_SUCCESS)
        e = fake_unsafe("cuStreamQuery");
    if (e == CUDA_SUCCESS && s->done < s->submitted)
        e = CUDA_ERROR_NOT_READY;
    return fake_leave(e);
}

CUresult cuStreamGetCtx(CUstream s, CUcontext *ctx)
{
    CUresult e = fake_enter("cuStreamGetCtx", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (ctx == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    if (s == NULL || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD) {
        *ctx = fake_current();
        return fake_leave(*ctx == NULL ? CUDA_ERROR_INVALID_CONTEXT
                                       : CUDA_SUCCESS);
    }
    e = fake_check(s, STREAM, "stream");
    if (e == CUDA_SUCCESS)
        *ctx = s->object.ctx;
    return fake_leave(e);
}

CUresult cuLaunchHostFunc(CUstream s, CUhostFn fn, void *data)
{
    CUresult e = fake_enter("cuLaunchHostFunc", CURRENT);
    struct cuda_work *w;

    if (e != CUDA_SUCCESS)
        return e;
    e = fn == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    w = fake_work(CALLBACK);
    if (w == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->fn = fn;
    w->data = data;
    return fake_leave(fake_submit(s, w));
}

CUresult fakecuda_compute(CUstream s, const struct ssq_standin_range *r,
                          size_t n, CUhostFn fn, const void *data, size_t bytes)
{
    CUresult e = fake_enter("fakecuda_compute", CURRENT);
    struct cuda_work *w;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    w = fake_work(COMPUTE);
    if (w == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->fn = fn;
    w->param = malloc(bytes);
    w->param_bytes = bytes;
    w->binding = malloc((n + 1) * sizeof(*r));
    w->nbindings = n;
    w->bound = true;
    if (w->param == NULL || w->binding == NULL) {
        fake_work_free(w);
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    memcpy(w->param, data, bytes);
    memcpy(w->binding, r, n * sizeof(*r));
    return fake_leave(fake_submit(s, w));
}
