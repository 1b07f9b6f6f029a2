/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - how many threads a device has unless it is told.
 *
 * As many as processors that this process may run on, and no more than its
 * control group pays for: a container with two of 64 processors would stand
 * still for most of each period with 64 threads. */
#define _GNU_SOURCE
#include "backends/cpu/threads/parallel.h"

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

/* Numbers in a file, at most two: "max 100000" has none. */
static int numbers(const char *path, long long number[2])
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    int n = fscanf(f, "%lld %lld", &number[0], &number[1]);
    fclose(f);
    return n;
}

/* Processors for this many microseconds of each period. */
static uint32_t processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota / period >= UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)(quota / period + (quota % period != 0));
}

/* The quota in a group's folder: "200000 100000" in one file, or, in
 * hierarchies of the first version, each in its own file. */
static uint32_t granted(const char *folder)
{
    char file[PATH_MAX];
    long long x[2] = {0, 0}, quota[2], period[2];
    snprintf(file, sizeof(file), "%.*s/cpu.max", PATH_MAX - 32, folder);
    if (numbers(file, x) == 2)
        return processors(x[0], x[1]);
    snprintf(file, sizeof(file), "%.*s/cpu.cfs_quota_us", PATH_MAX - 32,
             folder);
    if (numbers(file, quota) != 1)
        return UINT32_MAX;
    snprintf(file, sizeof(file), "%.*s/cpu.cfs_period_us", PATH_MAX - 32,
             folder);
    return numbers(file, period) == 1 ? processors(quota[0], period[0])
                                      : UINT32_MAX;
}

/* The least that a group or one above it is granted: a limit holds for all that
 * is below. Parts of the path that a container does not see are missing. */
static uint32_t granted_along(const char *root, const char *controllers,
                              char *group)
{
    char folder[PATH_MAX];
    uint32_t least = UINT32_MAX;
    for (;;) {
        snprintf(folder, sizeof(folder), "%.256s%s%.256s%.3000s", root,
                 controllers[0] == '\0' ? "" : "/", controllers, group);
        uint32_t here = granted(folder);
        least = here < least ? here : least;
        char *last = strrchr(group, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

/* Is "cpu" one of "cpu,cpuacct"? */
static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; *at != '\0'; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == 3 && strncmp(at, "cpu", 3) == 0)
            return true;
        at += n;
    }
    return false;
}

/* A line is "0::/path" of the unified hierarchy, and "4:cpu,cpuacct:/path" of
 * one of the first version. */
static uint32_t granted_by(char *line, const char *root)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL || group[1] != '/')
        return UINT32_MAX;
    *controllers++ = '\0';
    *group++ = '\0';
    bool unified = controllers[0] == '\0' && strcmp(line, "0") == 0;
    if (!unified && !has_cpu(controllers))
        return UINT32_MAX;
    return granted_along(root, controllers, group);
}

uint32_t team_granted(const char *group, const char *root)
{
    char line[PATH_MAX];
    uint32_t least = UINT32_MAX;
    FILE *f = fopen(group, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        uint32_t here = granted_by(line, root);
        least = here < least ? here : least;
    }
    if (f != NULL)
        fclose(f);
    return least;
}

uint32_t team_default_size(void)
{
    uint32_t n = allowed();
    uint32_t paid = team_granted("/proc/self/cgroup", "/sys/fs/cgroup");
    n = paid < n ? paid : n;
    return n < 1 ? 1 : n < TEAM_MOST ? n : TEAM_MOST;
}
