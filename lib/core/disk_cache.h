/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.h - compiled kernels on disk, from one run to the next.
 *
 * name is the file's: lower-case letters, digits, "_" and "-", then "-" and the
 * 16 hexadecimal digits of a hash. key is all that its contents depend on, and
 * is stored with them: a file of another key counts as none. */
#ifndef LIB_CORE_DISK_CACHE_H
#define LIB_CORE_DISK_CACHE_H

#include "lib/core/backend.h"

/** INVALID if a variable of the cache's has a value that it cannot have:
 * SSQ_CACHE, SSQ_CACHE_PROGRAMS, SSQ_CACHE_MB. */
ssq_status disk_cache_settings(const struct services *core);
/** True if there is a directory that files may be kept in. */
bool disk_cache_usable(const struct services *core);
/** True if compiled programs are to be kept there, too. Not with
 *  SSQ_CACHE_PROGRAMS=0: where a driver keeps its own, a second copy only takes
 *  time and room. */
bool disk_cache_programs(const struct services *core);
/** What was stored, to be freed with mem_free; NULL: there is nothing. */
unsigned char *disk_cache_load(const struct services *core, const char *name,
                               const char *key, size_t *bytes);
/** The same; *damaged: a file of this name is there and cannot be read, or is
 *  not whole. One that is whole and of another key is not damaged. */
unsigned char *disk_cache_read(const struct services *core, const char *name,
                               const char *key, size_t *bytes, bool *damaged);
/** Store a binary under name and key, if that can be done, and sweep what
 *  others left. A failure is silent: the cache is only asked whether it has
 *  something. */
void disk_cache_store(const struct services *core, const char *name,
                      const char *key, const unsigned char *binary,
                      size_t bytes);
/** The path of a file, there or not; false: there is no directory for it. */
bool disk_cache_path(const struct services *core, const char *name, char *path,
                     size_t bytes);
/** Remove a file, if the cache wrote it. False: it is still there. */
bool disk_cache_remove(const struct services *core, const char *name);
/** Lock the folder, to read a file and then replace it. The lock is advisory,
 * and between processes, not threads. Waits up to five seconds.
 *  @return for disk_cache_unlock; DISK_CACHE_BUSY another process holds the
 *          lock: do not change the file; another value below 0: there is
 *          nothing to lock, as in a read-only folder */
int disk_cache_lock(const struct services *core);
#define DISK_CACHE_BUSY (-2)
void disk_cache_unlock(int lock);
/** The hash of what hash is of, followed by n more bytes; DISK_CACHE_HASH is
 *  that of no bytes. */
static inline uint64_t disk_cache_hash(uint64_t hash, const void *bytes,
                                       size_t n)
{
    const unsigned char *b = bytes; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}
#define DISK_CACHE_HASH UINT64_C(0xcbf29ce484222325)

#endif
