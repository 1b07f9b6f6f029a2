/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.h - compiled kernels on disk, from one run to the next.
 *
 * name is the name of a file. It consists of lower-case letters, digits, "_"
 * and "-", then "-" and the 16 hexadecimal digits of a hash. key is everything
 * that the contents depend on. It is stored with them: a file with another key
 * counts as missing. */
#ifndef LIB_CORE_MODULE_DISK_CACHE_H
#define LIB_CORE_MODULE_DISK_CACHE_H

#include "lib/core/module/backend.h"

/** Return SSQ_ERR_INVALID if SSQ_CACHE, SSQ_CACHE_PROGRAMS or SSQ_CACHE_MB has
 *  an invalid value. */
ssq_status disk_cache_settings(const struct services *core);
/** True if the cache is enabled and has a directory. */
bool disk_cache_usable(const struct services *core);
/** True if compiled programs should be stored there, too. False with
 *  SSQ_CACHE_PROGRAMS=0: if a driver keeps its own copy, a second one only
 *  takes time and space. */
bool disk_cache_programs(const struct services *core);
/** Load a binary; free it with mem_free(). NULL: none could be loaded. */
unsigned char *disk_cache_load(const struct services *core, const char *name,
                               const char *key, size_t *bytes);
/** The same, and return the reason if there is none. Sets no error text.
 *  @return
 *   - SSQ_OK         *binary is NULL if none was stored; a complete file with
 *                    another key counts as missing
 *   - SSQ_ERR_IO     a file of this name exists and cannot be read, or is
 *                    incomplete
 *   - SSQ_ERR_NOMEM  do not replace the file: it may be good */
ssq_status disk_cache_read(const struct services *core, const char *name,
                           const char *key, unsigned char **binary,
                           size_t *bytes);
/** Store a binary under name and key, and remove abandoned and surplus files.
 *  Returns false if the binary could not be stored: an older one may remain. */
bool disk_cache_store(const struct services *core, const char *name,
                      const char *key, const unsigned char *binary,
                      size_t bytes);
/** Set path to the path of a file, which need not exist. False: the cache has
 *  no directory. */
bool disk_cache_path(const struct services *core, const char *name, char *path,
                     size_t bytes);
/** Remove a file if the cache wrote it. False: it still exists. */
bool disk_cache_remove(const struct services *core, const char *name);
/** Lock the folder, to read a file and then replace it. The lock is advisory
 *  and excludes other processes, but not threads. Waits up to five seconds.
 *  @return a value for disk_cache_unlock(). DISK_CACHE_BUSY: another process
 *          holds the lock, so do not change the file. Another value below 0:
 *          nothing can be locked, for example in a read-only folder */
int disk_cache_lock(const struct services *core);
#define DISK_CACHE_BUSY (-2)
void disk_cache_unlock(int lock);
/** Extend a hash by n more bytes; DISK_CACHE_HASH is the hash of no bytes. */
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
