/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_calls.c - calls of several ops, which run all or none. Their commands
 * are kept in an internal graph, or in the graph that is being captured. */
#include "lib/core/queue/graph.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/submit.h"

/* In a capture, the bundle is the capture's own graph. bundle.from is then its
 * length before the bundle, so that a failure can remove the commands of the
 * bundle. Otherwise the bundle is a separate graph, or none while ops match a
 * trace (replay.h). Ops that call other ops nest; only the outermost begin and
 * end have an effect. */
ssq_status queue_bundle_begin(ssq_queue *queue)
{
    if (queue->bundle.depth++ > 0)
        return SSQ_OK;
    queue->bundle.partial = false;
    queue->bundle.graph = queue->capture.graph;
    queue->bundle.from =
        queue->capture.graph == NULL ? 0 : queue->capture.graph->n;
    if (queue->bundle.graph != NULL || replay_bundle_begin(queue))
        return SSQ_OK;
    ssq_status st = graph_create(queue->device, "bundle", &queue->bundle.graph);
    if (st != SSQ_OK)
        queue->bundle.depth = 0;
    return st;
}

/* End the outermost bundle. Submitted commands hold the graph until the device
 * has finished them, so this function can drop its reference. */
static ssq_status bundle_close(ssq_queue *queue, ssq_status st)
{
    ssq_graph *g = queue->bundle.graph;
    queue->bundle.graph = NULL;
    if (g == NULL) /* all its ops match a trace: replay.h */
        return replay_bundle_end(queue, st);
    if (g == queue->capture.graph) {
        if (st != SSQ_OK)
            graph_drop(g, queue->bundle.from);
        return st;
    }
    if (st == SSQ_OK)
        st = queue_submit(queue, g->commands, g->n, &g->object);
    object_put(&g->object);
    return replay_bundle_end(queue, st);
}

/* The callers pass an inner failure on, up to the outermost end. If a part of
 * the bundle has run on the host, its outputs are half written: the queue
 * fails. */
ssq_status queue_bundle_end(ssq_queue *queue, ssq_status st)
{
    if (--queue->bundle.depth > 0)
        return st;
    st = bundle_close(queue, st);
    return st != SSQ_OK && queue->bundle.partial ? queue_fail(queue, st) : st;
}

size_t capture_length(const ssq_queue *queue)
{
    return queue->capture.graph == NULL ? 0 : queue->capture.graph->n;
}

/* The program may have ended the capture meanwhile: no bundle could be ended
 * then. */
bool capture_cut(ssq_queue *queue, size_t length)
{
    if (queue->capture.graph == NULL)
        return false;
    graph_drop(queue->capture.graph, length);
    return true;
}

/* Create the new graph before anything is submitted. Only the submission can
 * then fail, and after a failure the bundle is still complete. The caller has
 * refused captures, so the bundle is a separate graph here. */
ssq_status bundle_suspend(ssq_queue *queue, ssq_graph **graph)
{
    ssq_graph *g = queue->bundle.graph;
    *graph = NULL;
    if (g == NULL)
        return SSQ_OK;
    ssq_graph *fresh = NULL;
    ssq_status st = graph_create(queue->device, "bundle", &fresh);
    if (st == SSQ_OK)
        st = queue_submit(queue, g->commands, g->n, &g->object);
    if (st != SSQ_OK)
        return st;
    queue->bundle.partial = queue->bundle.partial || g->n > 0;
    object_put(&g->object);
    queue->bundle.graph = NULL;
    *graph = fresh;
    return SSQ_OK;
}

void bundle_resume(ssq_queue *queue, ssq_graph *graph)
{
    queue->bundle.graph = graph;
}
