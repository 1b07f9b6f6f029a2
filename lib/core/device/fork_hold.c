/* SPDX-License-Identifier: Apache-2.0 */
/* fork_hold.c - locks of devices and queues that are taken before a fork. The
 * order of all locks is in lib/core/base/fork.c. */
#include "lib/core/device/fork_hold.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/observer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards watched */
static ssq_device *watched;

static void fork_lock_devices(void)
{
    pthread_mutex_lock(&lock);
    for (ssq_device *d = watched; d != NULL; d = d->next_watched) {
        queues_hold(d);
        pool_hold(d->pool);
        d->backend->fork_hold(d->impl);
    }
    observers_hold();
}

static void fork_unlock_devices(void)
{
    observers_let_go();
    for (ssq_device *d = watched; d != NULL; d = d->next_watched) {
        d->backend->fork_let_go(d->impl);
        pool_let_go(d->pool);
        queues_let_go(d);
    }
    pthread_mutex_unlock(&lock);
}

void fork_hold_devices(void)
{
    static const struct fork_locks locks = {fork_lock_devices,
                                            fork_unlock_devices};
    fork_locks_first(&locks);
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
