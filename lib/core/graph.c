/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - capture a sequence of ops, launch it again. */
#include "lib/core/graph.h"
#include "lib/core/queue.h"
#include "lib/plan/plan.h"

/* A scaler or an optimizer whose stages the capture has moved, and snapshots of
 * them from before its first call in the capture and from the capture's end. */
struct watch {
    struct watch *next;
    struct object *owner;        /* held */
    const struct stages *stages; /* how its snapshots are made and dropped */
    void *begin, *end;           /* owned, of stages->bytes each */
};

/* Also for a watch that is only half made: snapshots of zeros are empty. */
static void watch_free(struct watch *w)
{
    if (w->begin != NULL)
        w->stages->drop(w->begin);
    if (w->end != NULL)
        w->stages->drop(w->end);
    mem_free(w->begin);
    mem_free(w->end);
    object_put(w->owner);
    mem_free(w);
}

/* Drop the watches, which hold their owners; without all, keep those whose
 * owners want to hear of every launch: they stay as long as the graph. */
static void watches_drop(ssq_graph *g, bool all)
{
    struct watch **at = &g->watches;
    while (*at != NULL) {
        struct watch *w = *at;
        if (!all && w->stages->launched != NULL) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        watch_free(w);
    }
}

void graph_drop(ssq_graph *g, size_t n)
{
    while (g->n > n)
        command_release(&g->commands[--g->n]);
}

/* Go back to commands alone: when the graph is freed, and when the backend
 * could not record all of it. */
static void segments_drop(ssq_graph *g)
{
    while (g->n_segments > 0) {
        struct backend_graph *native = g->segments[--g->n_segments].native;
        if (!device_lost(g->device))
            g->device->backend->graph_free(native);
    }
    mem_free(g->segments);
    mem_free(g->runs);
    g->segments = NULL;
    g->runs = NULL;
    g->n_runs = 0;
}

/* Not before the device has finished every launch of it: pending commands hold
 * the graph. Segments refer to commands, so they go first. */
static void graph_free(struct object *o)
{
    ssq_graph *g = (ssq_graph *)o;
    segments_drop(g);
    graph_drop(g, 0);
    watches_drop(g, true);
    mem_free(g->commands);
    object_put(&g->device->object);
    mem_free(g);
}

ssq_status graph_create(ssq_device *device, const char *what, ssq_graph **out)
{
    ssq_graph *g = mem_alloc(sizeof(*g));
    if (g == NULL)
        return error_nomem(what, sizeof(*g));
    object_init(&g->object, graph_free);
    g->device = device;
    object_get(&device->object);
    *out = g;
    return SSQ_OK;
}

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

/* The array doubles when it is full. The command was taken over by the call, so
 * it is released where there is no memory to keep it. */
ssq_status capture_record(ssq_graph *g, const struct command *command)
{
    if (g->n == g->room) {
        size_t room = g->room == 0 ? 64 : g->room * 2;
        struct command *c = mem_alloc_array(room, sizeof(*c));
        if (c == NULL) {
            command_release(command);
            return error_nomem("graph", room * sizeof(*c));
        }
        for (size_t i = 0; i < g->n; i++)
            c[i] = g->commands[i];
        mem_free(g->commands);
        g->commands = c;
        g->room = room;
    }
    g->commands[g->n++] = *command;
    return SSQ_OK;
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

/* Have the backend record the launches of commands from..to - 1. The list of
 * launches is only for the call; the launches themselves are in the plans,
 * which the graph's commands hold. */
static ssq_status record(ssq_queue *queue, ssq_graph *g, size_t from, size_t to)
{
    size_t n = 0, at = 0;
    for (size_t i = from; i < to; i++)
        n += plan_launches(g->commands[i].plan, NULL);
    const struct launch **l = mem_alloc_array(n + 1, sizeof(*l));
    if (l == NULL)
        return error_nomem("graph", (n + 1) * sizeof(*l));
    for (size_t i = from; i < to; i++)
        at += plan_launches(g->commands[i].plan, l + at);
    struct segment *s = &g->segments[g->n_segments];
    *s = (struct segment){NULL, &g->commands[from], to - from};
    ssq_status st =
        g->device->backend->graph_create(queue->impl, l, n, &s->native);
    mem_free(l);
    if (st == SSQ_OK)
        g->n_segments++;
    return st;
}

/* Put the runs of plans into segments, of at least two commands each; a single
 * one is handed over as it is. Commands without a plan, transfers among them,
 * stay what they are. runs and segments have room for as many entries as there
 * are commands. */
static ssq_status segment_all(ssq_queue *queue, ssq_graph *g)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < g->n && st == SSQ_OK;) {
        size_t end = i;
        while (end < g->n && g->commands[end].plan != NULL)
            end++;
        struct command c = g->commands[i];
        if (end - i >= 2) {
            c.segment = &g->segments[g->n_segments];
            st = record(queue, g, i, end);
            i = end;
        } else {
            i++;
        }
        g->runs[g->n_runs++] = c;
    }
    return st;
}

/* Give the backend its own form of the graph, if it can have one. A failure
 * costs speed and nothing else, so it is logged, and commands are replayed. */
static void compile(ssq_queue *queue, ssq_graph *g)
{
    if (g->device->backend->graph_create == NULL || g->n == 0)
        return;
    ssq_status st = SSQ_ERR_NOMEM;
    g->runs = mem_alloc_array(g->n, sizeof(*g->runs));
    g->segments = mem_alloc_array(g->n, sizeof(*g->segments));
    if (g->runs == NULL || g->segments == NULL)
        (void)error_nomem("graph", g->n * sizeof(*g->segments));
    else
        st = segment_all(queue, g);
    if (st == SSQ_OK)
        return;
    log_line(SSQ_LOG_INFO, "graph", "%s: launches are replayed: %s",
             g->device->props.name, ssq_last_error());
    segments_drop(g);
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
    compile(queue, g);
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
