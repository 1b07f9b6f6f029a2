/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - tests in which the system has no more address space. A sanitizer
 * needs all of it: SANITIZED. */
#ifndef TESTS_CORE_SPACE_H
#define TESTS_CORE_SPACE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Leave this process this many bytes more than it has: drivers and threads of
 * devices that were opened before took theirs. was: the limit before,
 * NULL to forget. False where the system sets no limit. */
static inline bool space_limit(rlim_t more, struct rlimit *was)
{
    unsigned long pages = 0;
    struct rlimit now;
    FILE *f = fopen("/proc/self/statm", "r");
    bool known = f != NULL && fscanf(f, "%lu", &pages) == 1;
    if (f != NULL)
        fclose(f);
    if (!known || getrlimit(RLIMIT_AS, &now) != 0)
        return false;
    if (was != NULL)
        *was = now;
    now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    return setrlimit(RLIMIT_AS, &now) == 0;
}

#endif
