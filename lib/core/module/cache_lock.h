/* SPDX-License-Identifier: Apache-2.0 */
/* cache_lock.h - the lock of the cache's directory, for threads and processes.
 *
 * disk_cache_lock() alone does not exclude threads: POSIX locks belong to a
 * process, and closing any descriptor of the file ends them. */
#ifndef LIB_CORE_MODULE_CACHE_LOCK_H
#define LIB_CORE_MODULE_CACHE_LOCK_H

/** Lock the directory, to read a file and then replace it. Waits for other
 *  threads, and as disk_cache_lock() for other processes. Each call needs a
 *  cache_unlock(), also after a result below 0. Must not be called twice by a
 *  thread.
 *  @return as disk_cache_lock() */
int cache_lock(void);
void cache_unlock(int lock);

#endif
