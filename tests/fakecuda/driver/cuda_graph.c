/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_graph.c - graphs: captured from streams or put together, then launched.
 *
 * A graph's works are kept in the order in which they came, which respects what
 * each awaits; a launch hands them to one stream in that order. So a graph that
 * relies on two branches running at the same time is not found out. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdlib.h>

/* How this thread looks at captures: cuThreadExchangeStreamCaptureMode. */
static _Thread_local int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult fake_unsafe(const char *call)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next) {
        struct CUgraph_st *g = (struct CUgraph_st *)o;

        if (o->kind != GRAPH || !g->capturing ||
            g->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        if ((g->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
             thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
            pthread_equal(g->owner, pthread_self())) {
            g->invalid = true;
            return fake_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                               "%s while a stream is captured", call);
        }
    }
    return CUDA_SUCCESS;
}

static void append(struct CUgraph_st *g, struct cuda_work *w)
{
    if (g->last == NULL)
        g->first = w;
    else
        g->last->next = w;
    g->last = w;
    g->n++;
}

CUresult fake_capture(CUstream s, struct cuda_work *w)
{
    if (s->capture->invalid) {
        fake_work_free(w);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    append(s->capture, w);
    s->tail++;
    s->joined = false;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
    CUresult e = fake_enter("cuThreadExchangeStreamCaptureMode", INITIALIZED);
    int before = thread_mode;

    if (e != CUDA_SUCCESS)
        return e;
    if (mode == NULL || *mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    thread_mode = *mode;
    *mode = before;
    return fake_leave(CUDA_SUCCESS);
}

CUresult fake_implicit(CUstream s)
{
    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next) {
        CUstream t = (CUstream)o;

        if (o->kind == STREAM && s == s->object.ctx->legacy &&
            o->ctx == s->object.ctx && t->capture != NULL &&
            (t->flags & CU_STREAM_NON_BLOCKING) == 0)
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream s, int *status)
{
    CUresult e = fake_enter("cuStreamIsCapturing", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = status == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = fake_implicit(s);
    if (e == CUDA_SUCCESS)
        *status = s->capture == NULL    ? CU_STREAM_CAPTURE_STATUS_NONE
                  : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return fake_leave(e);
}

CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
    CUresult e = fake_enter("cuStreamBeginCapture_v2", CURRENT);
    struct CUgraph_st *g;

    if (e != CUDA_SUCCESS)
        return e;
    if (s == NULL || s == CU_STREAM_LEGACY)
        return fake_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    e = mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED
            ? CUDA_ERROR_INVALID_VALUE
            : fake_stream(s, &s);
    if (e == CUDA_SUCCESS && s->capture != NULL)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "captured already");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    g = fake_object(GRAPH, sizeof(*g));
    if (g == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    g->capturing = true;
    g->mode = mode;
    g->owner = pthread_self();
    s->capture = g;
    s->origin = true;
    s->tail = 0;
    return fake_leave(CUDA_SUCCESS);
}

static void graph_end(struct CUgraph_st *g)
{
    while (g->first != NULL) {
        struct cuda_work *w = g->first;

        g->first = w->next;
        fake_work_free(w);
    }
    g->last = NULL;
    g->object.dead = true;
}

/* All streams of a capture leave it; false: one was not joined. */
static bool release(const struct CUgraph_st *g)
{
    bool joined = true;

    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next) {
        CUstream s = (CUstream)o;

        if (o->kind != STREAM || s->capture != g)
            continue;
        joined = joined && (s->origin || s->joined);
        s->capture = NULL;
    }
    return joined;
}

/* A stream leaves its mode even if other calls fail. */
static void abandon(CUstream s)
{
    pthread_mutex_lock(&fake.lock);
    if (fake_stream(s, &s) == CUDA_SUCCESS && s->capture != NULL && s->origin) {
        struct CUgraph_st *g = s->capture;

        release(g);
        g->capturing = false;
        graph_end(g);
    }
    pthread_mutex_unlock(&fake.lock);
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *graph)
{
    CUresult e = fake_enter("cuStreamEndCapture", CURRENT);
    struct CUgraph_st *g;

    if (e != CUDA_SUCCESS) {
        abandon(s);
        return e;
    }
    e = graph == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);
    if (e == CUDA_SUCCESS && s->capture == NULL)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "the stream is not captured");
    if (e == CUDA_SUCCESS && !s->origin)
        e = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    g = s->capture;
    if (g->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(g->owner, pthread_self()))
        return fake_leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    if (!release(g))
        e = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (g->invalid)
        e = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    g->capturing = false;
    *graph = e == CUDA_SUCCESS ? g : NULL;
    if (e != CUDA_SUCCESS)
        graph_end(g);
    return fake_leave(e);
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
    CUresult e = fake_enter("cuGraphCreate", INITIALIZED);
    struct CUgraph_st *g;

    if (e != CUDA_SUCCESS)
        return e;
    if (graph == NULL || flags != 0)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    g = fake_object(GRAPH, sizeof(*g));
    if (g == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *graph = g;
    return fake_leave(CUDA_SUCCESS);
}

/* The nodes that a node awaits are in the graph before it, and so run before
 * it. */
CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                 const CUgraphNode *after, size_t n,
                                 const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult e = fake_enter("cuGraphAddKernelNode_v2", CURRENT);
    struct cuda_work *w = NULL;
    CUgraphNode made;

    if (e != CUDA_SUCCESS)
        return e;
    e = node == NULL || params == NULL || (n > 0 && after == NULL)
            ? CUDA_ERROR_INVALID_VALUE
            : fake_check(graph, GRAPH, "graph");
    for (size_t i = 0; i < n && e == CUDA_SUCCESS; i++)
        e = fake_check(after[i], NODE, "node");
    if (e == CUDA_SUCCESS)
        e = fake_kernel(&w, params);
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    made = fake_object(NODE, sizeof(*made));
    if (made == NULL) {
        fake_work_free(w);
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    append(graph, w);
    *node = made;
    return fake_leave(CUDA_SUCCESS);
}

static void exec_end(CUgraphExec exec)
{
    while (exec->first != NULL) {
        struct cuda_work *w = exec->first;

        exec->first = w->next;
        fake_work_free(w);
    }
    exec->object.dead = true;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long flags)
{
    CUresult e = fake_enter("cuGraphInstantiateWithFlags", CURRENT);
    CUgraphExec x;
    struct cuda_work **end;

    if (e != CUDA_SUCCESS)
        return e;
    e = exec == NULL || flags > 15 ? CUDA_ERROR_INVALID_VALUE
                                   : fake_check(graph, GRAPH, "graph");
    if (e == CUDA_SUCCESS && graph->capturing)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "still being captured");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    x = fake_object(EXEC, sizeof(*x));
    if (x == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    end = &x->first;
    for (const struct cuda_work *w = graph->first; w != NULL; w = w->next) {
        *end = fake_work_copy(w);
        if (*end == NULL) {
            exec_end(x);
            return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
        }
        end = &(*end)->next;
    }
    *exec = x;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream s)
{
    CUresult e = fake_enter("cuGraphLaunch", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(exec, EXEC, "executable graph");
    if (e == CUDA_SUCCESS)
        e = fake_stream(s, &s);
    for (const struct cuda_work *w = e == CUDA_SUCCESS ? exec->first : NULL;
         w != NULL && e == CUDA_SUCCESS; w = w->next) {
        struct cuda_work *c;

        if (w->kind == KERNEL && w->function->object.dead) {
            e = fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                            "the module of a node was unloaded");
            break;
        }
        c = fake_work_copy(w);
        e = c == NULL ? CUDA_ERROR_OUT_OF_MEMORY : fake_submit(s, c);
    }
    return fake_leave(e);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult e = fake_enter("cuGraphExecDestroy", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(exec, EXEC, "executable graph");
    if (e == CUDA_SUCCESS)
        exec_end(exec);
    return fake_leave(e);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    CUresult e = fake_enter("cuGraphDestroy", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(graph, GRAPH, "graph");
    if (e == CUDA_SUCCESS && graph->capturing)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "still being captured");
    if (e == CUDA_SUCCESS)
        graph_end(graph);
    return fake_leave(e);
}
