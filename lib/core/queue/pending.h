/* SPDX-License-Identifier: Apache-2.0 */
/* pending.h - commands that the backend has not finished. */
#ifndef LIB_CORE_QUEUE_PENDING_H
#define LIB_CORE_QUEUE_PENDING_H

#include "lib/core/core.h"

/** A command that the backend has not finished. It holds its op and buffers.
 *  Chains of these are in order, and end with NULL. */
struct pending {
    struct pending *next;   /* the command enqueued after it */
    uint64_t position;      /* finished once completed() has reached it */
    struct command command; /* passed to the backend; borrows op and plan */
    struct op *op;          /* an owned copy; NULL: holder has the op */
    struct plan *plan;      /* a reference; NULL: none, or in holder */
    struct object *holder;  /* a reference to the graph, or NULL */
};

/** Create a chain of n commands. Each holds a copy of its op or, if graph is
 *  not NULL, the graph that contains it. After a failure *chain has the first
 *  ones; release it with chain_release(). The error text is set. */
ssq_status chain_create(const struct command *commands, size_t n,
                        struct object *graph, struct pending **chain);
/** With the queue's lock: unlink the finished commands, and return them for
 *  chain_release(). If no command failed, call the callbacks of their
 *  downloads. */
struct pending *chain_finished(ssq_queue *queue);
/** Without the lock: release commands that are finished, or were not submitted.
 */
void chain_release(struct pending *chain);
/** Call the callback of a finished download. Other ops have none. */
void download_arrived(const struct op *op);

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

#endif
