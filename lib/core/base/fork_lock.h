/* SPDX-License-Identifier: Apache-2.0 */
/* fork_lock.h - locks that are free in a child of fork.
 *
 * They are for work that takes long or calls drivers, such as a self-test. The
 * handlers of forks must not wait for such a lock: a driver may fork while the
 * same thread holds it. Locks that are held briefly have functions in fork.h
 * instead. */
#ifndef LIB_CORE_BASE_FORK_LOCK_H
#define LIB_CORE_BASE_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/** A static variable, which is never freed. All members are private. */
struct fork_lock {
    pthread_mutex_t mutex;
    struct fork_lock *next;
    bool listed, broken;
};

#define FORK_LOCK_INIT                                                         \
    {                                                                          \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                     \
    }

/** Lock it. Returns true in a child of fork, at the first call, if a thread of
 *  the parent held the lock at the fork. The guarded data may then be half
 *  changed, and the caller must set it up again. */
bool fork_lock(struct fork_lock *lock);
void fork_unlock(struct fork_lock *lock);

/* Called by the handlers of forks (fork.c). The lock of the list is the
 * innermost: fork_locks_hold() is called last, and fork_locks_let_go() first.
 */
void fork_locks_hold(void);
void fork_locks_let_go(void);
/** Free all locks; called in the child, while it has one thread. */
void fork_locks_forked(void);

#endif
