/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - commands that were submitted to the backend, until it has finished
 * them. */
#ifndef LIB_CORE_QUEUE_SUBMIT_H
#define LIB_CORE_QUEUE_SUBMIT_H

#include "lib/core/core.h"

/** A command that the backend has not finished. It holds its op and buffers. */
struct pending {
    struct pending *next;   /* the command enqueued after it */
    uint64_t position;      /* finished once completed() has reached it */
    struct command command; /* passed to start(); borrows op and plan */
    struct op *op;          /* an owned copy; NULL: holder has the op */
    struct plan *plan;      /* a reference; NULL: none, or in holder */
    struct object *holder;  /* a reference to the graph, or NULL */
};

/** Consecutive commands of a graph that are all plans, recorded by the backend
 *  as one object. */
struct segment {
    struct backend_graph *native;   /* owned by the graph with this segment */
    const struct command *commands; /* n of the graph's commands, in order */
    size_t n;
};

/** Submit an admitted command to the backend. */
ssq_status queue_submit(ssq_queue *queue, const struct command *command);
/** Submit n commands of a graph, which is held until they are finished. If host
 *  memory is too short, none of them is submitted. If graph is NULL, each
 *  command's op is copied instead. */
ssq_status queue_submit_all(ssq_queue *queue, const struct command *commands,
                            size_t n, struct object *graph);
/** The same, for commands whose writes were already reported to observers. */
ssq_status queue_submit_reported(ssq_queue *queue,
                                 const struct command *commands, size_t n,
                                 struct object *graph);
/** Release the objects of finished commands, and call the callbacks of their
 *  downloads. If wait is set, wait for all commands first. A failure is sticky:
 *  a later call returns it. */
void queue_retire(ssq_queue *queue, bool wait);
/** Wait for all commands, release them, and return the error, if any. */
ssq_status queue_finish(ssq_queue *queue);
/** Release everything, after the backend has closed the queue. */
void queue_release_commands(ssq_queue *queue);
/** Make the queue sticky if the backend knows of a failed command; returns its
 *  error. Waits for nothing. */
ssq_status queue_poll_failure(ssq_queue *queue);

/* ---- lists of pending commands: the caller must hold the queue's lock ---- */

/** Submit the commands of *chain, and advance *chain past each command that the
 *  backend accepted. Their writes were already reported. A backend without
 *  completed finishes each command immediately: the command is then prepended
 *  to *done, and *submitted grows by 1. For such a backend the lock is not
 *  needed if no other thread calls the backend for this queue. */
ssq_status chain_submit(ssq_queue *queue, struct pending **chain,
                        uint64_t *submitted, struct pending **done);
/** Unlink the finished commands, and return them for chain_release(). If no
 *  command failed, call the callbacks of their downloads. */
struct pending *chain_finished(ssq_queue *queue);
/** Report the writes of a chain's commands to observers. */
void chain_report(const ssq_queue *queue, const struct pending *chain);
/** Without the lock: release commands that are finished, or were not submitted.
 */
void chain_release(struct pending *chain);

/** Release a command's op and plan. */
void command_release(const struct command *command);

#endif
