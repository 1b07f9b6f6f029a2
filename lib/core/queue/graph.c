/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - the parts of a graph: commands, the backend's form of them, and
 * watches, which follow the stages of scalers and optimizers. */
#include "lib/core/queue/graph.h"

#include "lib/core/queue/plan.h"
#include "lib/core/queue/queue.h"

void watch_free(struct watch *w)
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

void watches_drop(ssq_graph *g, bool all)
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

/* Release a command's op and plan. */
static void command_release(const struct command *c)
{
    op_release(c->op);
    if (c->plan != NULL)
        object_put(plan_object(c->plan));
}

void graph_drop(ssq_graph *g, size_t n)
{
    while (g->n > n)
        command_release(&g->commands[--g->n]);
}

/* Free the backend's form of the graph; the commands remain. Used when the
 * graph is freed, and when the backend could not record all of it. */
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

/* Runs after the device has finished every launch, because pending commands
 * hold the graph. Segments refer to commands, so they are freed first. */
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

/* The array doubles when it is full. This function owns the command, so it
 * releases the command if memory is missing. */
ssq_status graph_append(ssq_graph *g, const struct command *command)
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

ssq_status graph_append_copy(ssq_graph *graph, const struct command *c)
{
    struct command copy = *c;
    copy.op = op_hold(c->op);
    if (copy.op == NULL)
        return SSQ_ERR_NOMEM;
    if (c->plan != NULL)
        object_get(plan_object(c->plan));
    return graph_append(graph, &copy);
}

/* Record the launches of commands from to `to` - 1 in the backend. The list of
 * launches exists only for the call. The launches themselves are in the plans,
 * which the graph's commands hold. */
static ssq_status graph_record_segment(ssq_queue *queue, ssq_graph *g,
                                       size_t from, size_t to)
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

/* Put each run of at least two plans into a segment. A single plan is
 * submitted as it is, and so is a command without a plan, such as a transfer.
 * runs and segments have room for one entry per command. */
static ssq_status graph_record_segments(ssq_queue *queue, ssq_graph *g)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < g->n && st == SSQ_OK;) {
        size_t end = i;
        while (end < g->n && g->commands[end].plan != NULL)
            end++;
        struct command c = g->commands[i];
        if (end - i >= 2) {
            c.segment = &g->segments[g->n_segments];
            st = graph_record_segment(queue, g, i, end);
            i = end;
        } else {
            i++;
        }
        g->runs[g->n_runs++] = c;
    }
    return st;
}

/* Give the backend its own form of the graph, if it supports one. A failure
 * only costs speed, so it is logged and the commands are replayed. */
void graph_compile(ssq_queue *queue, ssq_graph *g)
{
    if (g->device->backend->graph_create == NULL || g->n == 0)
        return;
    ssq_status st = SSQ_ERR_NOMEM;
    g->runs = mem_alloc_array(g->n, sizeof(*g->runs));
    g->segments = mem_alloc_array(g->n, sizeof(*g->segments));
    if (g->runs == NULL || g->segments == NULL)
        (void)error_nomem("graph", g->n * sizeof(*g->segments));
    else
        st = graph_record_segments(queue, g);
    if (st == SSQ_OK)
        return;
    log_line(SSQ_LOG_INFO, "graph", "%s: launches are replayed: %s",
             g->device->props.name, ssq_last_error());
    segments_drop(g);
}
