/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - the handlers of forks, which keep other threads from changing data
 * of the library while the process is copied.
 *
 * Order of locks, everywhere:
 * - the list of watched devices
 * - for each device: its queues, its pool and the locks of its backend
 * - observers
 * - the log
 * - host memory
 * - the environment
 * - the list of locks that are free in a child */
#include "lib/core/base/fork.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fork_lock.h"
#include "lib/core/base/object.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static void (*tell)(void); /* called in a child; set before once */
static _Atomic(const struct fork_locks *) first; /* NULL: no device yet */
static const struct fork_locks
    *held; /* by a fork; guarded by the other locks */

unsigned fork_count(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* Runs in the thread that forks, before the process is copied. When it returns,
 * no other thread has any of these locks, so the data that they guard is
 * consistent in the child. */
static void fork_hold_locks(void)
{
    const struct fork_locks *locks = atomic_load(&first);
    if (locks != NULL)
        locks->hold();
    log_hold();
    mem_hold();
    env_hold();
    fork_locks_hold();
    held = locks;
}

/* Runs after the copying: in the parent, and called by fork_in_child() in the
 * child. The child's only thread is the one that took the locks, so it may
 * release them. */
static void fork_release_locks(void)
{
    const struct fork_locks *locks = held;
    fork_locks_let_go();
    env_let_go();
    mem_let_go();
    log_let_go();
    if (locks != NULL)
        locks->let_go();
}

/* Runs in the child, whose only thread has every lock. Changes here therefore
 * need no other lock. */
static void fork_in_child(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    tell();
    log_forked();
    fork_locks_forked();
    fork_release_locks();
}

/* Handlers cannot be removed, and need not be: glibc drops the handlers of a
 * shared object that is unloaded. */
static void install(void)
{
    ready =
        pthread_atfork(fork_hold_locks, fork_release_locks, fork_in_child) == 0;
}

void fork_locks_first(const struct fork_locks *locks)
{
    atomic_store(&first, locks);
}

bool fork_ready(void (*forked_too)(void))
{
    tell = forked_too;
    return pthread_once(&once, install) == 0 && ready;
}
