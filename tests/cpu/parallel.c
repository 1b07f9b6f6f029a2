/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - the team of threads: every task once, no two with one worker at
 * a time, no thread before there is work; children of fork, several callers. */
#define _GNU_SOURCE
#include "backends/cpu/threads/parallel.h"
#include "tests/core/core.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST    5000
#define WORKERS 8

struct parallel_loop {
    atomic_uint done[MOST];
    atomic_bool busy[WORKERS];
    atomic_uint overlaps, strangers;
    uint32_t size;
};

static struct parallel_loop loop;

static void task(void *context, uint32_t i, uint32_t worker)
{
    struct parallel_loop *l = context;
    if (worker >= l->size || i >= MOST) {
        atomic_fetch_add(&l->strangers, 1);
        return;
    }
    if (atomic_exchange(&l->busy[worker], true))
        atomic_fetch_add(&l->overlaps, 1);
    atomic_fetch_add(&l->done[i], 1);
    atomic_store(&l->busy[worker], false);
}

/* Each of the first n tasks was done this many times, and no other. */
static bool done(const struct parallel_loop *l, uint32_t n, unsigned times)
{
    for (uint32_t i = 0; i < MOST; i++)
        if (atomic_load(&l->done[i]) != (i < n ? times : 0))
            return false;
    return atomic_load(&l->overlaps) == 0 && atomic_load(&l->strangers) == 0;
}

static bool once(struct team *team, uint32_t n)
{
    memset(&loop, 0, sizeof(loop));
    loop.size = team_size(team);
    parallel_for(team, n, task, &loop);
    return done(&loop, n, 1);
}

/* Threads of this process, as the system counts them. */
static unsigned threads(void)
{
    char line[128];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "Threads: %u", &n);
    if (f != NULL)
        fclose(f);
    return n;
}

/* The system counts a thread for a moment after it was joined: its join returns
 * before the kernel has removed it. Wait up to a second. */
static bool threads_left(unsigned n)
{
    for (int i = 0; i < 1000 && threads() != n; i++)
        usleep(1000);
    return threads() == n;
}

static void test_sizes(uint32_t size)
{
    unsigned others = threads(); /* of drivers */
    static const uint32_t n[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
    struct team *team = NULL;
    if (!tap_ok(team_create(size, NULL, &team) == SSQ_OK &&
                    team_size(team) == size,
                "a team of %u", (unsigned)size))
        return;
    tap_ok(threads() == others, "no thread before there is a loop");
    parallel_for(team, 1, task, &loop);
    tap_ok(threads() == others, "nor by one of one task");
    for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
        tap_ok(once(team, n[i]), "%u threads do %u tasks, each once",
               (unsigned)size, (unsigned)n[i]);
    tap_ok(threads() == others + size - 1, "%u threads are there",
           (unsigned)size);
    bool good = true;
    for (int i = 0; i < 3000 && good; i++)
        good = once(team, 1 + (uint32_t)i % 9);
    tap_ok(good, "3000 short loops in a row");
    usleep(20000);
    tap_ok(once(team, 100), "a loop for threads that sleep");
    team_destroy(&team);
    tap_ok(team == NULL && threads_left(others),
           "destroyed, without its threads");
}

/* The number of this process's threads that may run on these processors. */
static unsigned threads_on(const cpu_set_t *set)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e = NULL; d != NULL && (e = readdir(d)) != NULL;) {
        cpu_set_t may;
        n += e->d_name[0] != '.' &&
             sched_getaffinity(atoi(e->d_name), sizeof(may), &may) == 0 &&
             CPU_EQUAL(&may, set);
    }
    if (d != NULL)
        closedir(d);
    return n;
}

/* Threads that were woken may be moved away from the caller's processor. After
 * that they may run where they might before. */
static void test_processors(void)
{
    struct team *team = NULL;
    cpu_set_t all;
    bool good = true;
    if (!tap_ok(sched_getaffinity(0, sizeof(all), &all) == 0 &&
                    team_create(4, NULL, &team) == SSQ_OK && once(team, 4),
                "a team of 4, and its processors"))
        return;
    unsigned before = threads_on(&all);
    for (int i = 0; i < 50 && good; i++) {
        usleep(2000); /* they sleep */
        good = once(team, i % 2 == 0 ? 2 : 64);
    }
    tap_ok(good, "50 loops for threads that sleep");
    tap_ok(threads_on(&all) == before,
           "%u threads may run where they might before", before);
    team_destroy(&team);
}

/* A child has none of the threads: it starts its own. */
static void test_fork(void)
{
    struct team *team = NULL;
    if (!tap_ok(team_create(3, NULL, &team) == SSQ_OK && once(team, 100),
                "a team that has worked"))
        return;
    team_hold(team);
#ifdef __SANITIZE_THREAD__
    team_let_go(team);
    tap_skip("gcc's TSan takes a child's threads for the parent's",
             "a child of fork has threads of its own");
#else
    pid_t child = fork();
    team_let_go(team);
    if (child == 0) {
        bool good = once(team, 1000);
        team_destroy(&team);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a child of fork has threads of its own");
#endif
    tap_ok(once(team, 1000), "the parent goes on");
    team_destroy(&team);
}

struct parallel_caller {
    struct team *team;
    struct parallel_loop *loop;
};

static void *many_loops(void *of)
{
    struct parallel_caller *c = of;
    for (int i = 0; i < 500; i++)
        parallel_for(c->team, 10, task, c->loop);
    return NULL;
}

static void test_callers(void)
{
    static struct parallel_loop two[2];
    struct team *team = NULL;
    pthread_t other;
    if (!tap_ok(team_create(2, NULL, &team) == SSQ_OK,
                "a team for two callers"))
        return;
    two[0].size = two[1].size = 2;
    struct parallel_caller c[2] = {{team, &two[0]}, {team, &two[1]}};
    if (pthread_create(&other, NULL, many_loops, &c[1]) != 0)
        tap_bail("no thread for a second caller");
    many_loops(&c[0]);
    pthread_join(other, NULL);
    tap_ok(done(&two[0], 10, 500) && done(&two[1], 10, 500),
           "loops of two callers wait for one another");
    team_destroy(&team);
}

static void *nothing(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t first;          /* with it a checker starts its own */
    (void)ssq_device_count(); /* a device installs fork handlers */
    if (pthread_create(&first, NULL, nothing, NULL) == 0)
        pthread_join(first, NULL);
    for (uint32_t size = 1; size <= 4; size++)
        test_sizes(size);
    test_processors();
    test_fork();
    test_callers();
    uint32_t n = team_default_size();
    tap_ok(n >= 1 && n <= TEAM_MOST, "%u threads unless told", (unsigned)n);
    return tap_done(63);
}
