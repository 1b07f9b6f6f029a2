/* SPDX-License-Identifier: Apache-2.0 */
/* cache_lock.c - the lock of the cache's directory, for threads and processes.
 */
#include "lib/core/module/cache_lock.h"

#include "lib/core/module/disk_cache.h"
#include "lib/core/base/fork_lock.h"
#include "lib/core/module/services.h"

static struct fork_lock threads = FORK_LOCK_INIT;

int cache_lock(void)
{
    (void)fork_lock(&threads);
    return disk_cache_lock(&core_services);
}

void cache_unlock(int lock)
{
    disk_cache_unlock(lock);
    fork_unlock(&threads);
}
