/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - submit commands to the backend. */
#ifndef LIB_CORE_QUEUE_SUBMIT_H
#define LIB_CORE_QUEUE_SUBMIT_H

#include "lib/core/queue/pending.h"

/** Consecutive commands of a graph that are all plans, recorded by the backend
 *  as one object. */
struct segment {
    struct backend_graph *native;   /* owned by the graph with this segment */
    const struct command *commands; /* n of the graph's commands, in order */
    size_t n;
};

/** Submit n commands, or defer them if the queue is at a closed gate. If graph
 *  is not NULL, it contains the commands, and is held until they are finished.
 *  Otherwise the op of each command is copied. If host memory is too short,
 *  none of them is submitted. */
ssq_status queue_submit(ssq_queue *queue, const struct command *commands,
                        size_t n, struct object *graph);

/** Submit the commands of *chain, and advance *chain past each command that the
 *  backend accepted. recorded: the program records them with its driver's
 *  functions. The caller must hold the queue's lock.
 *
 *  A backend without completed has finished each command that it accepted. The
 *  command is then prepended to *done, which reverses the order, and *submitted
 *  grows by 1. For such a backend the lock is not needed if no other thread
 *  calls the backend for this queue. */
ssq_status chain_submit(ssq_queue *queue, struct pending **chain, bool recorded,
                        uint64_t *submitted, struct pending **done);

#endif
