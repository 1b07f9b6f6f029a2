/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.h - the bundle of a queue: commands of one call, which run all or
 * none. See queue_bundle_begin(). */
#ifndef LIB_CORE_QUEUE_BUNDLE_H
#define LIB_CORE_QUEUE_BUNDLE_H

#include <sesqui/graph.h>

#include "lib/core/core.h"

/** The bundle of a queue. */
struct bundle {
    ssq_graph *graph; /* the capture's, or a separate one; NULL: no bundle */
    unsigned depth;   /* nested begins without an end */
    size_t from;      /* commands of the capture before the bundle */
    bool partial;     /* a part of it has run: it cannot be dropped any more */
};

/** Submit the commands of the bundle so far, and leave the bundle until
 *  bundle_resume(). Use this for work that cannot be kept in a bundle. *graph
 *  is for bundle_resume(); NULL without a bundle. */
ssq_status bundle_suspend(ssq_queue *queue, ssq_graph **graph);
/** Continue a bundle that bundle_suspend() has left. */
void bundle_resume(ssq_queue *queue, ssq_graph *graph);

#endif
