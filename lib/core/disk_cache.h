/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.h - compiled kernels on disk, from one run to the next.
 *
 * name is the file's, key all that its contents depend on. */
#ifndef LIB_CORE_DISK_CACHE_H
#define LIB_CORE_DISK_CACHE_H

#include "lib/core/backend.h"

/** Is there a directory that files may be kept in? */
bool disk_cache_usable(const struct services *core);
/** And are compiled programs to be kept there? Not with SSQ_CACHE_PROGRAMS=0:
 *  where a driver keeps its own, a second copy only takes time and room. */
bool disk_cache_programs(const struct services *core);
/** What was stored, to be freed with mem_free; NULL: there is nothing. */
unsigned char *disk_cache_load(const struct services *core, const char *name,
                               const char *key, size_t *bytes);
/** Store it, if that can be done; and sweep what others left. */
void disk_cache_store(const struct services *core, const char *name,
                      const char *key, const unsigned char *binary,
                      size_t bytes);
/** n more bytes of a hash that begins with DISK_CACHE_HASH. */
uint64_t disk_cache_hash(uint64_t hash, const void *bytes, size_t n);
#define DISK_CACHE_HASH UINT64_C(0xcbf29ce484222325)

#endif
