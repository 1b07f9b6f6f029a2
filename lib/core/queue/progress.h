/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how far a queue has run, also after it is freed. core.h has the
 * functions for objects that ask. */
#ifndef LIB_CORE_QUEUE_PROGRESS_H
#define LIB_CORE_QUEUE_PROGRESS_H

#include "lib/core/core.h"

/** Create a progress with one reference, for the queue. impl is borrowed. NULL
 *  without memory. */
struct progress *progress_create(const struct backend *backend,
                                 struct backend_queue *impl);
/** Add a reference; returns progress. */
struct progress *progress_get(struct progress *progress);
/** Set the queue, which is not held. */
void progress_bind(struct progress *progress, ssq_queue *queue);
/** Call queue_fail() if the queue still exists. Any thread may call this; it
 *  needs neither a reference to the queue nor its lock. */
void progress_fail(struct progress *progress, ssq_status status);
/** Get the queue, with a reference for the caller; NULL: it no longer exists.
 */
ssq_queue *progress_queue(struct progress *progress);
/** Stop using impl. closed: all work is finished. A thread that checks the
 *  progress holds the lock, so impl is not closed during the check. */
void progress_close(struct progress *progress, bool closed);
/** Set the number of commands submitted so far. Only for a backend without
 *  completed, which has finished all of them. */
void progress_set_submitted(struct progress *progress, uint64_t submitted);
/** For fork only: no thread can check the progress in between. */
void progress_hold(struct progress *progress);
void progress_let_go(struct progress *progress);

#endif
