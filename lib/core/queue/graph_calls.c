/* SPDX-License-Identifier: Apache-2.0 */
/* graph_calls.c - capture ops in a graph, and launch it. */
#include "lib/core/queue/graph.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/submit.h"

/* Begin a capture by the calling thread. capture is set under the queue's lock,
 * and the capturing thread under queues_lock; never hold both. */
static ssq_status core_graph_begin(ssq_queue *queue, bool dry, const char *name)
{
    ssq_status st = queue_check(queue, name);
    if (st != SSQ_OK)
        return st;
    if (queue->capture.graph != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured already", name);
    ssq_graph *g = NULL;
    st = graph_create(queue->device, name, &g);
    if (st != SSQ_OK)
        return st;
    st = replay_flush(queue);
    if (st != SSQ_OK) {
        object_put(&g->object);
        return st;
    }
    pthread_mutex_lock(&queue->lock);
    queue->capture.graph = g;
    queue->capture.dry = dry;
    pthread_mutex_unlock(&queue->lock);
    capture_set_thread(queue, true);
    return SSQ_OK;
}

ssq_status ssq_graph_begin(ssq_queue *queue)
{
    return core_graph_begin(queue, false, "graph_begin");
}

ssq_status ssq_graph_begin_dry(ssq_queue *queue)
{
    return core_graph_begin(queue, true, "graph_begin_dry");
}

/* Only the first call per owner and capture has an effect. It sees the stages
 * from before the capture, because a call that changes them calls this first.
 */
ssq_status capture_watch(ssq_queue *queue, struct object *owner,
                         const struct stages *stages)
{
    ssq_graph *g = queue->capture.graph;
    if (g == NULL)
        return SSQ_OK;
    for (struct watch *w = g->watches; w != NULL; w = w->next)
        if (w->owner == owner)
            return SSQ_OK;
    struct watch *w = mem_alloc(sizeof(*w));
    if (w == NULL)
        return error_nomem("graph", sizeof(*w));
    w->stages = stages;
    w->owner = owner;
    object_get(owner);
    w->begin = mem_alloc(stages->bytes);
    w->end = mem_alloc(stages->bytes);
    if (w->begin == NULL || w->end == NULL) {
        watch_free(w);
        return error_nomem("graph", 2 * stages->bytes);
    }
    ssq_status st = stages->save(owner, w->begin);
    if (st != SSQ_OK) {
        watch_free(w);
        return st;
    }
    w->next = g->watches;
    g->watches = w;
    return SSQ_OK;
}

/* Leave the capture. None of its ops has run, so all stages are restored. */
static void capture_leave(ssq_queue *queue)
{
    ssq_graph *g = queue->capture.graph;
    for (struct watch *w = g->watches; w != NULL; w = w->next)
        w->stages->restore(w->owner, w->begin);
    pthread_mutex_lock(&queue->lock);
    queue->capture.graph = NULL;
    pthread_mutex_unlock(&queue->lock);
    capture_set_thread(queue, false);
}

/* Leave the capture of a lost device as it is, like all parts of such a device:
 * the fork may have happened in the middle of a change. */
void capture_drop(ssq_queue *queue)
{
    ssq_graph *g = queue->capture.graph;
    if (g == NULL || device_lost(queue->device))
        return;
    capture_leave(queue);
    object_put(&g->object);
}

/* Refuse a capture that contains half a step. The number of each stage must be
 * the same as at the start, or a second launch would start at another stage. */
static ssq_status graph_check_whole(const ssq_graph *g)
{
    for (const struct watch *w = g->watches; w != NULL; w = w->next) {
        ssq_status st = w->stages->save(w->owner, w->end);
        if (st != SSQ_OK)
            return st;
        int begin = w->stages->number(w->begin);
        int end = w->stages->number(w->end);
        if (begin != end)
            return error_set(SSQ_ERR_INVALID,
                             "graph_end: the stage of the %s is %d, it was %d "
                             "at the begin: a captured step must be whole",
                             w->stages->what, end, begin);
    }
    return SSQ_OK;
}

/* A sticky error and half a step also end the capture and drop it. After a
 * wrong argument, or a call by another thread, the capture continues. */
ssq_status ssq_graph_end(ssq_queue *queue, ssq_graph **graph)
{
    ssq_status st = queue_check(queue, "graph_end");
    if (st != SSQ_OK) {
        if (queue != NULL)
            capture_drop(queue);
        return st;
    }
    if (queue->capture.graph == NULL || graph == NULL)
        return error_set(SSQ_ERR_INVALID, "graph_end: %s",
                         graph == NULL ? "graph is NULL"
                                       : "no graph is being captured");
    st = capture_check_thread(queue, "graph_end");
    if (st != SSQ_OK)
        return st;
    ssq_graph *g = queue->capture.graph;
    st = graph_check_whole(g);
    if (st != SSQ_OK) {
        capture_drop(queue);
        return st;
    }
    if (queue->capture.dry) {
        capture_drop(queue);
        *graph = NULL;
        return SSQ_OK;
    }
    capture_leave(queue);
    watches_drop(g, false);
    graph_compile(queue, g);
    *graph = g;
    return SSQ_OK;
}

/* Refuse a launch in the middle of a step that calls have begun. */
static ssq_status check_ready(const ssq_graph *g)
{
    ssq_status st = SSQ_OK;
    for (struct watch *w = g->watches; st == SSQ_OK && w != NULL; w = w->next)
        if (w->stages->ready != NULL)
            st = w->stages->ready(w->owner, w->begin, w->end);
    return st;
}

/* launched is not checked for NULL: after the capture, only watches with
 * launched remain. */
ssq_status ssq_graph_launch(ssq_queue *queue, ssq_graph *graph)
{
    ssq_status st = queue_check(queue, "graph_launch");
    if (st != SSQ_OK)
        return st;
    if (graph == NULL || graph->device != queue->device)
        return error_set(SSQ_ERR_INVALID, "graph_launch: %s",
                         graph == NULL ? "graph is NULL"
                                       : "the graph is of another device");
    if (queue->capture.graph != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "graph_launch: a graph is being captured");
    bool recorded;
    st = check_ready(graph);
    if (st == SSQ_OK)
        st = replay_flush(queue);
    if (st == SSQ_OK)
        st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK)
        return st;
    /* a recording by the caller contains launches, not the driver's graphs */
    bool runs = graph->runs != NULL && !recorded;
    st = queue_submit(queue, runs ? graph->runs : graph->commands,
                      runs ? graph->n_runs : graph->n, &graph->object);
    for (struct watch *w = graph->watches; st == SSQ_OK && w != NULL;
         w = w->next)
        w->stages->launched(queue, w->owner, w->begin, w->end);
    return st;
}

size_t ssq_graph_ops(const ssq_graph *graph)
{
    return graph == NULL ? 0 : graph->n;
}

void ssq_graph_destroy(ssq_graph **graph)
{
    if (graph == NULL || *graph == NULL)
        return;
    object_put(&(*graph)->object);
    *graph = NULL;
}
