/* SPDX-License-Identifier: Apache-2.0 */
/* fork_hold.c - the handlers of forks, which keep other threads from changing
 * data of the library while the process is copied.
 *
 * Order of locks, everywhere:
 * - the list of watched devices
 * - for each device: its queues, its pool and the locks of its backend
 * - witnesses
 * - the log
 * - host memory
 * - the environment
 * - the list of locks that are free in a child */
#include "lib/core/fork.h"
#include "lib/core/env.h"
#include "lib/core/fork_lock.h"
#include "lib/core/witness.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;
static void (*tell)(void); /* called in a child; set before once */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards watched */
static ssq_device *watched;

/* Runs in the thread that forks, before the process is copied. When it returns,
 * no other thread has any of these locks, so the data that they guard is
 * consistent in the child. */
static void hold(void)
{
    pthread_mutex_lock(&lock);
    for (ssq_device *d = watched; d != NULL; d = d->next_watched) {
        queues_hold(d);
        pool_hold(d->pool);
        d->backend->fork_hold(d->impl);
    }
    witness_hold();
    log_hold();
    mem_hold();
    env_hold();
    fork_locks_hold();
}

/* Runs after the copying: in the parent, and called by forked() in the child.
 * The child's only thread is the one that took the locks, so it may release
 * them. */
static void let_go(void)
{
    fork_locks_let_go();
    env_let_go();
    mem_let_go();
    log_let_go();
    witness_let_go();
    for (ssq_device *d = watched; d != NULL; d = d->next_watched) {
        d->backend->fork_let_go(d->impl);
        pool_let_go(d->pool);
        queues_let_go(d);
    }
    pthread_mutex_unlock(&lock);
}

/* Runs in the child, whose only thread has every lock. Changes here therefore
 * need no other lock. */
static void forked(void)
{
    fork_counted();
    tell();
    log_forked();
    fork_locks_forked();
    let_go();
}

/* Handlers cannot be removed, and need not be: glibc drops the handlers of a
 * shared object that is unloaded. */
static void install(void)
{
    ready = pthread_atfork(hold, let_go, forked) == 0;
}

bool fork_ready(void (*forked_too)(void))
{
    tell = forked_too;
    return pthread_once(&once, install) == 0 && ready;
}

void fork_watch(ssq_device *device)
{
    pthread_mutex_lock(&lock);
    device->next_watched = watched;
    watched = device;
    pthread_mutex_unlock(&lock);
}

void fork_unwatch(ssq_device *device)
{
    pthread_mutex_lock(&lock);
    ssq_device **at = &watched;
    while (*at != NULL && *at != device)
        at = &(*at)->next_watched;
    if (*at != NULL)
        *at = device->next_watched;
    pthread_mutex_unlock(&lock);
}
