/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - commands that are kept, for graph.c and bundle.c. */
#ifndef LIB_CORE_GRAPH_H
#define LIB_CORE_GRAPH_H

#include <sesqui/graph.h>

#include "lib/core/backend.h"

struct ssq_graph {
    struct object object;
    ssq_device *device;
    struct command *commands;
    size_t n, room;
    struct watch *watches;
    /* what a launch hands over, once the capture has ended: commands, or for
     * runs of plans the backend's own form of them */
    struct command *runs;
    struct segment *segments;
    size_t n_runs, n_segments;
};

/** An empty one; what begins the text of a failure. */
ssq_status graph_create(ssq_device *device, const char *what, ssq_graph **out);
/** Release the commands from number n on. */
void graph_drop(ssq_graph *graph, size_t n);

#endif
