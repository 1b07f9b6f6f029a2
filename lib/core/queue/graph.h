/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - commands that are kept: of captures, bundles and traces. */
#ifndef LIB_CORE_QUEUE_GRAPH_H
#define LIB_CORE_QUEUE_GRAPH_H

#include <sesqui/graph.h>

#include "lib/core/core.h"
#include "lib/core/queue/submit.h"

/* A scaler or an optimizer whose stages change in the capture. The snapshots
 * are from before its first call in the capture, and from the capture's end. */
struct watch {
    struct watch *next;
    struct object *owner;        /* a reference */
    const struct stages *stages; /* functions for its snapshots */
    void *begin, *end;           /* owned, of stages->bytes each */
};

struct ssq_graph {
    struct object object;
    ssq_device *device;
    struct command *commands; /* each owns its op and plan */
    size_t n, room;           /* commands, and the capacity of the array */
    struct watch *watches;    /* owners whose stages the capture changes */
    /* After the capture, if the backend records graphs: the commands that a
     * launch submits. A run of plans is replaced by one command with the
     * backend's segment. runs borrows ops and plans from commands. NULL: a
     * launch submits commands. */
    struct command *runs;
    struct segment *segments;
    size_t n_runs, n_segments;
};

/** Create an empty graph, which holds the device. The error's text begins with
 *  `what`. */
ssq_status graph_create(ssq_device *device, const char *what, ssq_graph **out);
/** Append a command to the graph under construction. Takes over the command's
 *  op and plan, even on failure. */
ssq_status graph_append(ssq_graph *graph, const struct command *command);
/** Append a copy of a command to a graph. The copy holds its op and plan. */
ssq_status graph_append_copy(ssq_graph *graph, const struct command *c);
/** Give the backend its own form of a complete graph, if it supports one. */
void graph_compile(ssq_queue *queue, ssq_graph *graph);
/** Free a watch, which may be incomplete: snapshots of zeros are empty. */
void watch_free(struct watch *watch);
/** Drop the watches, which hold their owners. If all is false, keep watches
 *  that have launched(): they stay as long as the graph. */
void watches_drop(ssq_graph *graph, bool all);
/** Release the commands from number n on. */
void graph_drop(ssq_graph *graph, size_t n);

#endif
