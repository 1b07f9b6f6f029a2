/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - the use of devices in a child of fork. */
#ifndef LIB_CORE_FORK_H
#define LIB_CORE_FORK_H

#include "lib/core/core.h"

/** Install the handlers of forks, which call forked in each child. False
 *  without memory. Called by the registry, from one thread at a time. */
bool fork_ready(void (*forked)(void));
/** Count a fork; called in the child: fork_count() is one more from now on. */
void fork_counted(void);
/** Watch a device whose backend works in a child: other threads are kept out of
 *  it while the process is copied. */
void fork_watch(ssq_device *device);
/** Stop watching a device; call this before it is freed. The device need not
 *  have been watched. */
void fork_unwatch(ssq_device *device);

/* Functions for the handlers; the comments name the files with the locks.
 * hold() in fork_hold.c calls the hold functions before the process is copied.
 * The let_go functions run in reverse order after it, in the parent and in the
 * child. In the child, log_forked() and fork_locks_forked() run before them,
 * while it has one thread and all the locks. */
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
