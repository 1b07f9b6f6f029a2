/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - commands that are kept, for graph.c and bundle.c. */
#ifndef LIB_CORE_GRAPH_H
#define LIB_CORE_GRAPH_H

#include <sesqui/graph.h>

#include "lib/core/backend.h"

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
/** Release the commands from number n on. */
void graph_drop(ssq_graph *graph, size_t n);

#endif
