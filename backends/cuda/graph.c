/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - launches as a CUDA graph.
 *
 * Create enqueues the launches once on a stream that records them instead of
 * running them. Launching the graph then costs the host one call, for any
 * number of launches. */
#include "backends/cuda/queue.h"

struct backend_graph {
    struct backend_device *device;
    CUgraphExec exec;
};

/* Record the launches in order. *call is set to the name of the call that
 * failed. With the context. */
static CUresult graph_record(const struct backend_device *d, CUstream stream,
                             const struct launch *const *launches, size_t n,
                             CUgraph *graph, const char **call)
{
    *call = "cuStreamBeginCapture";
    /* thread-local: other threads may still make calls that a capture
     * forbids */
    CUresult e =
        CU(d, StreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (e != CUDA_SUCCESS)
        return e;
    *call = "cuLaunchKernel";
    for (size_t i = 0; i < n && e == CUDA_SUCCESS; i++)
        e = cuda_launch_on(d, stream, launches[i]);
    /* also after a failure: the stream must leave capture mode */
    CUresult end = CU(d, StreamEndCapture)(stream, graph);
    if (e == CUDA_SUCCESS) {
        *call = "cuStreamEndCapture";
        e = end;
    } else if (end == CUDA_SUCCESS && *graph != NULL) {
        (void)CU(d, GraphDestroy)(*graph);
    }
    return e;
}

/* Record the launches on a new stream, and instantiate the graph. With the
 * context. */
static CUresult graph_make(const struct backend_device *d,
                           const struct launch *const *launches, size_t n,
                           CUgraphExec *exec, const char **call)
{
    CUstream stream;
    CUgraph graph = NULL;
    *call = "cuStreamCreate";
    CUresult e = CU(d, StreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    if (e != CUDA_SUCCESS)
        return e;
    e = graph_record(d, stream, launches, n, &graph, call);
    if (e == CUDA_SUCCESS) {
        *call = "cuGraphInstantiateWithFlags";
        e = CU(d, GraphInstantiate)(exec, graph, 0);
        (void)CU(d, GraphDestroy)(graph);
    }
    (void)CU(d, StreamDestroy)(stream);
    return e;
}

ssq_status cuda_graph_create(struct backend_queue *queue,
                             const struct launch *const *launches, size_t n,
                             struct backend_graph **graph)
{
    struct backend_device *d = queue->device;
    struct why why;
    if (!cuda_calls_have(d->calls, CUDA_GRAPHS, &why))
        return d->core->error_set(SSQ_ERR_UNSUPPORTED, "cuda: %s", why.text);
    struct backend_graph *g = d->core->mem_alloc(sizeof(*g));
    if (g == NULL)
        return cuda_no_memory(d->core, sizeof(*g));
    g->device = d;
    const char *call = "";
    ssq_status st = cuda_queue_enter(queue);
    if (st == SSQ_OK) {
        CUstreamCaptureMode mode = cuda_relax(d);
        CUresult e = graph_make(d, launches, n, &g->exec, &call);
        cuda_relaxed(d, mode);
        cuda_leave(d);
        st = e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, call, e);
    }
    if (st != SSQ_OK)
        d->core->mem_free(g);
    else
        *graph = g;
    return st;
}

ssq_status cuda_graph_launch(struct backend_queue *q,
                             struct backend_graph *graph)
{
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    return cuda_queue_leave(q, "cuGraphLaunch",
                            CU(q->device, GraphLaunch)(graph->exec, q->stream));
}

void cuda_graph_free(struct backend_graph *graph)
{
    struct backend_device *d = graph->device;
    if (cuda_enter(d) == SSQ_OK) {
        (void)CU(d, GraphExecDestroy)(graph->exec);
        cuda_leave(d);
    }
    d->core->mem_free(graph);
}
