/* SPDX-License-Identifier: Apache-2.0 */
/* fork_lock.h - locks that are free in a child of fork.
 *
 * They are for work that takes long or that calls drivers, such as a self-test.
 * The handlers of forks must not wait for such a lock: a driver may fork while
 * its own thread holds it. Locks that are held for moments have functions in
 * fork.h instead. */
#ifndef LIB_CORE_FORK_LOCK_H
#define LIB_CORE_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/** A static variable; never freed. All members are private. */
struct fork_lock {
    pthread_mutex_t mutex;
    struct fork_lock *next;
    bool listed, broken;
};

#define FORK_LOCK_INIT                                                         \
    {                                                                          \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                     \
    }

/** Lock it. Returns true at the first call in a child of fork if a thread of
 *  the parent held it at the fork. The guarded data may be half changed then,
 *  and the caller must set it up again. */
bool fork_lock(struct fork_lock *lock);
void fork_unlock(struct fork_lock *lock);

/* Called by the handlers of forks (fork_hold.c), the first two last and first
 * of all: the lock of the list is the innermost. */
void fork_locks_hold(void);
void fork_locks_let_go(void);
/** In the child, while it has one thread: free all locks. */
void fork_locks_forked(void);

#endif
