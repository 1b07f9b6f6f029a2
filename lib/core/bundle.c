/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - calls of several ops, which run all or none: their commands wait
 * in a graph that nobody sees, or in the one that is being captured. */
#include "lib/core/graph.h"
#include "lib/core/queue.h"
#include "lib/core/repeat.h"

/* In a capture the bundle is the capture's own graph, and bundle_from remembers
 * how long that was, so that a failure can take back what the bundle added.
 * Else it is a graph of its own. Ops that call others nest; only the outermost
 * pair does anything. */
ssq_status queue_bundle_begin(ssq_queue *queue)
{
    if (queue->bundle_depth++ > 0)
        return SSQ_OK;
    queue->bundle = queue->capture;
    queue->bundle_from = queue->capture == NULL ? 0 : queue->capture->n;
    if (queue->bundle != NULL || repeat_bundle_begin(queue))
        return SSQ_OK;
    ssq_status st = graph_create(queue->device, "bundle", &queue->bundle);
    if (st != SSQ_OK)
        queue->bundle_depth = 0;
    return st;
}

/* The commands that are handed over hold the graph until the device has
 * finished them, so this reference may be dropped at once. */
ssq_status queue_bundle_end(ssq_queue *queue, ssq_status st)
{
    /* An inner failure is passed on by the outer callers, to the last end. */
    if (--queue->bundle_depth > 0)
        return st;
    ssq_graph *g = queue->bundle;
    queue->bundle = NULL;
    if (g == NULL) /* all of it waits */
        return repeat_bundle_end(queue, st);
    if (g == queue->capture) {
        if (st != SSQ_OK)
            graph_drop(g, queue->bundle_from);
        return st;
    }
    if (st == SSQ_OK)
        st = queue_submit_all(queue, g->commands, g->n, &g->object);
    object_put(&g->object);
    return repeat_bundle_end(queue, st);
}

/* The fresh graph is made before anything is submitted: then only the
 * submission can fail, and the bundle is still whole if it does. Callers have
 * refused captures before, so the bundle is a graph of its own here. */
ssq_status bundle_suspend(ssq_queue *queue, ssq_graph **graph)
{
    ssq_graph *g = queue->bundle;
    *graph = NULL;
    if (g == NULL)
        return SSQ_OK;
    ssq_graph *fresh = NULL;
    ssq_status st = graph_create(queue->device, "bundle", &fresh);
    if (st == SSQ_OK)
        st = queue_submit_all(queue, g->commands, g->n, &g->object);
    if (st != SSQ_OK)
        return st;
    object_put(&g->object);
    queue->bundle = NULL;
    *graph = fresh;
    return SSQ_OK;
}

void bundle_resume(ssq_queue *queue, ssq_graph *graph)
{
    queue->bundle = graph;
}
