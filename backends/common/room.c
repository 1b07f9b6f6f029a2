/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - does the driver have enough memory for its next call?
 *
 * Memory is asked for with one anonymous mapping that no one touches and that
 * is gone again: MAP_NORESERVE, so that a small machine is not refused what its
 * driver would never touch, and writable, so that RLIMIT_DATA counts it. */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS, MAP_NORESERVE */

#include "backends/common/room.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
/** Memory that glibc's malloc reserves for a thread's first allocation: the
 *  heap's HEAP_MAX_SIZE; for a moment, twice. */
#define ARENA_BYTES (sizeof(void *) == 8 ? 64 * MIB : MIB)
/** The stack of a thread where RLIMIT_STACK has no limit. */
#define STACK_BYTES (8 * MIB)
#define PATH_BYTES  4096

static uint64_t room_limit_of(int what)
{
    struct rlimit r;
    return getrlimit(what, &r) == 0 && r.rlim_cur != RLIM_INFINITY
               ? (uint64_t)r.rlim_cur
               : UINT64_MAX;
}

/* "RLIMIT_AS 314572800" */
static void limit_text(const char *name, int what, char *text, size_t bytes)
{
    uint64_t limit = room_limit_of(what);
    if (limit == UINT64_MAX)
        snprintf(text, bytes, "%s unlimited", name);
    else
        snprintf(text, bytes, "%s %llu", name, (unsigned long long)limit);
}

bool room_for_bytes(uint64_t bytes, const char *what, struct why *why)
{
    char space[48], data[48];
    if (bytes == 0)
        return true;
    if (bytes < SIZE_MAX) {
        void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            (void)munmap(p, (size_t)bytes);
            return true;
        }
    }
    limit_text("RLIMIT_AS", RLIMIT_AS, space, sizeof(space));
    limit_text("RLIMIT_DATA", RLIMIT_DATA, data, sizeof(data));
    snprintf(why->text, sizeof(why->text),
             "no address space for %llu bytes, which %s may need (%s, %s)",
             (unsigned long long)bytes, what, space, data);
    return false;
}

bool room_for_driver(const struct room_need *need, struct why *why)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = cpus < 1 ? 1u : (uint64_t)cpus;
    if (need->cpus_most != 0 && n > need->cpus_most)
        n = need->cpus_most;
    uint64_t threads = need->threads + need->threads_per_cpu * n;
    uint64_t stack = room_limit_of(RLIMIT_STACK);
    if (stack == UINT64_MAX)
        stack = STACK_BYTES;
    uint64_t bytes = need->own_mib * MIB + ARENA_BYTES, each, all;
    if (!size_add(stack, ARENA_BYTES, &each) ||
        !size_mul(threads, each, &all) || !size_add(bytes, all, &bytes))
        bytes = UINT64_MAX;
    return room_for_bytes(bytes, need->call, why);
}

/* ---- the disk ---- */

/* Where a driver keeps its cache; false: it has none, or no one can tell. */
static bool cache_path(const struct services *core,
                       const struct room_cache *cache, char *path, size_t bytes)
{
    const char *own = core->env_text(cache->variable);
    const char *off = cache->off == NULL ? NULL : core->env_text(cache->off);
    const char *base = core->env_text("XDG_CACHE_HOME");
    const char *home = core->env_text("HOME");
    int n = -1;
    if (off != NULL && off[0] != '\0' && strchr("1tTyY", off[0]) != NULL)
        return false;
    if (own != NULL && own[0] != '\0')
        n = snprintf(path, bytes, "%s", own);
    else if (base != NULL && base[0] != '\0')
        n = snprintf(path, bytes, "%s/%s", base, cache->below);
    else if (home != NULL && home[0] != '\0')
        n = snprintf(path, bytes, "%s/.cache/%s", home, cache->below);
    return n > 0 && (size_t)n < bytes && path[0] == '/';
}

/* Of the directory, or of its nearest parent that exists. */
static bool find_disk(char *path, struct statvfs *s)
{
    while (statvfs(path, s) != 0) {
        char *end = strrchr(path, '/');
        if (end == NULL || end == path)
            return false;
        *end = '\0';
    }
    return true;
}

bool room_for_cache(const struct services *core, const struct room_cache *cache,
                    struct why *why)
{
    char path[PATH_BYTES];
    struct statvfs s;
    if (!cache_path(core, cache, path, sizeof(path)) || !find_disk(path, &s))
        return true;
    /* a disk without blocks (proc, some network's) does not say */
    if ((s.f_flag & ST_RDONLY) != 0 || s.f_blocks == 0)
        return true;
    uint64_t left = (uint64_t)s.f_bavail * s.f_frsize;
    if (left >= cache->bytes)
        return true;
    snprintf(why->text, sizeof(why->text),
             "%.120s has room for %llu bytes, the driver's cache needs %llu: "
             "name another directory in %s",
             path, (unsigned long long)left, (unsigned long long)cache->bytes,
             cache->variable);
    return false;
}
