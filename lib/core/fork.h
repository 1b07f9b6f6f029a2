/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - what a child of fork may go on with. */
#ifndef LIB_CORE_FORK_H
#define LIB_CORE_FORK_H

#include "lib/core/core.h"

/** Have forks noticed from now on, and forked called in each child; false:
 *  there is no memory for that. Called by the registry, once at a time. */
bool fork_ready(void (*forked)(void));
/** There is a child, this one: fork_count() is one more. */
void fork_counted(void);
/** A device whose backend lives on in a child: other threads are kept out of
 *  it while the process is copied. */
void fork_watch(ssq_device *device);
/** Before the device is taken apart; one that was never watched may come. */
void fork_unwatch(ssq_device *device);

/* What the handlers call; the comment names the file that has the locks. The
 * hold functions run in this order before the process is copied, then env_hold
 * (env.h) and fork_locks_hold (fork_lock.h). The let_go functions run in the
 * reverse order after it, in the parent and in the child. log_forked and
 * fork_locks_forked run in the child before that, while it has one thread and
 * all the locks. */
void queues_hold(ssq_device *device); /* queue.c */
void queues_let_go(ssq_device *device);
void pool_hold(struct pool *pool); /* pool.c */
void pool_let_go(struct pool *pool);
void log_hold(void); /* log.c */
void log_let_go(void);
void log_forked(void);
void mem_hold(void); /* mem.c */
void mem_let_go(void);

#endif
