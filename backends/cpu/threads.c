/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - how many threads a device has unless it is told.
 *
 * As many as processors that this process may run on, and no more than its
 * control group pays for: a container with two of 64 processors would stand
 * still for most of each period with 64 threads. */
#define _GNU_SOURCE
#include "backends/cpu/parallel.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Processors that the scheduler may choose from. A machine may have more than
 * a cpu_set_t has room for: then all count. */
static uint32_t allowed(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* Whole processors' worth of time that a file grants: "max 100000" or "200000
 * 100000", microseconds of each period; UINT32_MAX: it sets no limit. */
static uint32_t granted(const char *path)
{
    long long quota, period;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return UINT32_MAX;
    int n = fscanf(f, "%lld %lld", &quota, &period);
    fclose(f);
    if (n != 2 || quota <= 0 || period <= 0 || quota / period >= UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)((quota + period - 1) / period);
}

/* This process's group below the unified hierarchy's root: "0::/path". */
static bool own_group(char *path, size_t bytes)
{
    char line[PATH_MAX];
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (f == NULL)
        return false;
    while (!found && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0 && strlen(line + 3) < bytes;
        if (found)
            memcpy(path, line + 3, strlen(line + 3) + 1);
    }
    fclose(f);
    return found;
}

/* The least that the group or one above it is granted: a limit holds for all
 * that is below. */
static uint32_t paid_for(void)
{
    char group[PATH_MAX / 2], file[PATH_MAX];
    uint32_t least = UINT32_MAX;
    if (!own_group(group, sizeof(group)))
        return least;
    for (;;) {
        snprintf(file, sizeof(file), "/sys/fs/cgroup%s/cpu.max", group);
        uint32_t here = granted(file);
        least = here < least ? here : least;
        char *last = strrchr(group, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

uint32_t team_default_size(void)
{
    uint32_t n = allowed(), paid = paid_for();
    n = paid < n ? paid : n;
    return n < 1 ? 1 : n < TEAM_MOST ? n : TEAM_MOST;
}
