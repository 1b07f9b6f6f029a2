/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - capture a sequence of ops, launch it again. */
#include "lib/core/graph.h"
#include "lib/core/queue.h"
#include "lib/core/repeat.h"

/* Begin a capture, in the calling thread's name. capture is set under the
 * queue's lock and the capturer under the device's: never both at once. */
static ssq_status begin(ssq_queue *queue, bool dry, const char *name)
{
    ssq_status st = queue_check(queue, name);
    if (st != SSQ_OK)
        return st;
    if (queue->capture != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured already", name);
    ssq_graph *g = NULL;
    st = graph_create(queue->device, name, &g);
    if (st != SSQ_OK)
        return st;
    st = repeat_flush(queue);
    if (st != SSQ_OK) {
        object_put(&g->object);
        return st;
    }
    pthread_mutex_lock(&queue->lock);
    queue->capture = g;
    queue->dry = dry;
    pthread_mutex_unlock(&queue->lock);
    capturer_set(queue, true);
    return SSQ_OK;
}

ssq_status ssq_graph_begin(ssq_queue *queue)
{
    return begin(queue, false, "graph_begin");
}

ssq_status ssq_graph_begin_dry(ssq_queue *queue)
{
    return begin(queue, true, "graph_begin_dry");
}

/* Once per owner and capture: the first call sees the stages as they were at
 * the begin, since every call that moves them comes here before it does. */
ssq_status capture_watch(ssq_queue *queue, struct object *owner,
                         const struct stages *stages)
{
    ssq_graph *g = queue->capture;
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
    stages->save(owner, w->begin);
    w->next = g->watches;
    g->watches = w;
    return SSQ_OK;
}

/* Leave the capture; nothing of it has run, so all stages go back. */
static void capture_leave(ssq_queue *queue)
{
    ssq_graph *g = queue->capture;
    for (struct watch *w = g->watches; w != NULL; w = w->next)
        w->stages->restore(w->owner, w->begin);
    pthread_mutex_lock(&queue->lock);
    queue->capture = NULL;
    pthread_mutex_unlock(&queue->lock);
    capturer_set(queue, false);
}

/* The capture of a lost device is left alone, as all that such a device has:
 * the fork may have met it in the middle of a change. */
void capture_drop(ssq_queue *queue)
{
    ssq_graph *g = queue->capture;
    if (g == NULL || device_lost(queue->device))
        return;
    capture_leave(queue);
    object_put(&g->object);
}

/* Refuse a capture with half a step in it: every stage has to be again what it
 * was at the begin, or a second launch would find it elsewhere. */
static ssq_status check_whole(const ssq_graph *g)
{
    for (const struct watch *w = g->watches; w != NULL; w = w->next) {
        w->stages->save(w->owner, w->end);
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

/* A sticky queue and half a step end the capture as well, and nothing of it is
 * kept; a wrong argument or a wrong thread leaves it under way. */
ssq_status ssq_graph_end(ssq_queue *queue, ssq_graph **graph)
{
    ssq_status st = queue_check(queue, "graph_end");
    if (st != SSQ_OK) {
        if (queue != NULL)
            capture_drop(queue);
        return st;
    }
    if (queue->capture == NULL || graph == NULL)
        return error_set(SSQ_ERR_INVALID, "graph_end: %s",
                         graph == NULL ? "graph is NULL"
                                       : "no graph is being captured");
    st = capture_mine(queue, "graph_end");
    if (st != SSQ_OK)
        return st;
    ssq_graph *g = queue->capture;
    st = check_whole(g);
    if (st != SSQ_OK) {
        capture_drop(queue);
        return st;
    }
    if (queue->dry) {
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

/* launched is called without a test for NULL: only watches that have it outlive
 * the capture. */
ssq_status ssq_graph_launch(ssq_queue *queue, ssq_graph *graph)
{
    ssq_status st = queue_check(queue, "graph_launch");
    if (st != SSQ_OK)
        return st;
    if (graph == NULL || graph->device != queue->device)
        return error_set(SSQ_ERR_INVALID, "graph_launch: %s",
                         graph == NULL ? "graph is NULL"
                                       : "the graph is of another device");
    if (queue->capture != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "graph_launch: a graph is being captured");
    bool recorded;
    st = repeat_flush(queue);
    if (st == SSQ_OK)
        st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK)
        return st;
    /* a recording of the caller's has launches and no graphs of the driver */
    bool runs = graph->runs != NULL && !recorded;
    st = queue_submit_all(queue, runs ? graph->runs : graph->commands,
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
