/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - commands that are kept: of captures, bundles and spans. */
#ifndef LIB_CORE_GRAPH_H
#define LIB_CORE_GRAPH_H

#include <sesqui/graph.h>

#include "lib/core/core.h"

/* A scaler or an optimizer whose stages the capture has moved, and snapshots of
 * them from before its first call in the capture and from the capture's end. */
struct watch {
    struct watch *next;
    struct object *owner;        /* held */
    const struct stages *stages; /* how its snapshots are made and dropped */
    void *begin, *end;           /* owned, of stages->bytes each */
};

struct ssq_graph {
    struct object object;
    ssq_device *device;
    struct command *commands; /* each with its op and plan, which it owns */
    size_t n, room;           /* commands, and how many the array can hold */
    struct watch *watches;    /* whose stages the capture moves */
    /* What a launch hands over once the capture has ended, where the backend
     * records graphs: commands, or in place of a run of plans a command with
     * the segment that the backend has of them. NULL: commands are handed over.
     * runs borrows ops and plans from commands. */
    struct command *runs;
    struct segment *segments;
    size_t n_runs, n_segments;
};

/** An empty graph that holds the device. The text of a failure begins with
 *  what. */
ssq_status graph_create(ssq_device *device, const char *what, ssq_graph **out);
/** Give the backend its own form of a graph that is whole, if it can have
 *  one. */
void graph_compile(ssq_queue *queue, ssq_graph *graph);
/** Also for a watch that is only half made: snapshots of zeros are empty. */
void watch_free(struct watch *watch);
/** Drop the watches, which hold their owners; without all, keep those whose
 *  owners want to hear of every launch: they stay as long as the graph. */
void watches_drop(ssq_graph *graph, bool all);
/** Release the commands from number n on. */
void graph_drop(ssq_graph *graph, size_t n);

#endif
