/* SPDX-License-Identifier: Apache-2.0 */
/* fork_lock.c - locks that are free in a child of fork. */
#include "lib/core/base/fork_lock.h"

#include <stddef.h>

/* Guards the list and every `listed`; no function is called under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fork_lock *locks;

/* Add a lock to the list before it is first locked, so that the list is
 * complete at every fork. */
static void fork_lock_list(struct fork_lock *l)
{
    pthread_mutex_lock(&lock);
    if (!l->listed) {
        l->listed = true;
        l->next = locks;
        locks = l;
    }
    pthread_mutex_unlock(&lock);
}

bool fork_lock(struct fork_lock *l)
{
    fork_lock_list(l);
    pthread_mutex_lock(&l->mutex);
    bool broken = l->broken;
    l->broken = false;
    return broken;
}

void fork_unlock(struct fork_lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}

void fork_locks_hold(void)
{
    pthread_mutex_lock(&lock);
}

void fork_locks_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

void fork_locks_forked(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    for (struct fork_lock *l = locks; l != NULL; l = l->next) {
        if (pthread_mutex_trylock(&l->mutex) == 0) {
            pthread_mutex_unlock(&l->mutex);
        } else {
            l->mutex = fresh;
            l->broken = true;
        }
    }
}
