/* SPDX-License-Identifier: Apache-2.0 */
/* lent.c - a team on the program's threads: every task once, no matter what
 * the program's parallel-for does, no two with one worker at a time, loops
 * within loops, and children of fork. */
#include "backends/cpu/threads/parallel.h"
#include "tests/core/core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SIZE 4
#define MOST 2000

static struct {
    atomic_uint done[MOST];
    atomic_bool busy[SIZE];
    atomic_uint overlaps, strangers;
} loop;

/* The arguments of calls of a parallel-for. */
static struct {
    atomic_uint calls, parts, wrong;
} lent;

static void task(void *context, uint32_t i, uint32_t worker)
{
    (void)context;
    if (worker >= SIZE || i >= MOST) {
        atomic_fetch_add(&loop.strangers, 1);
        return;
    }
    if (atomic_exchange(&loop.busy[worker], true))
        atomic_fetch_add(&loop.overlaps, 1);
    atomic_fetch_add(&loop.done[i], 1);
    for (volatile int spin = 0; spin < 100; spin++)
        ;
    atomic_store(&loop.busy[worker], false);
}

struct cpu_lent_part {
    ssq_cpu_share call;
    void *context;
    uint32_t i;
    unsigned times;
};

static void *call_part(void *of)
{
    const struct cpu_lent_part *s = of;
    for (unsigned i = 0; i < s->times; i++)
        s->call(s->context, s->i);
    return NULL;
}

static void note(uint32_t n)
{
    atomic_fetch_add(&lent.calls, 1);
    if (n < 1 || n > SIZE)
        atomic_fetch_add(&lent.wrong, 1);
}

/* All at a time, on threads of this call alone; each part this many times. */
static void on_threads(uint32_t n, ssq_cpu_share call, void *context,
                       unsigned times)
{
    pthread_t thread[SIZE];
    struct cpu_lent_part part[SIZE];
    note(n);
    for (uint32_t i = 0; i < n; i++) {
        part[i] = (struct cpu_lent_part){call, context, i, times};
        if (pthread_create(&thread[i], NULL, call_part, &part[i]) != 0)
            tap_bail("no thread for a share");
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static void at_once(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    on_threads(n, call, context, 1);
}

static void thrice(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    on_threads(n, call, context, 3);
}

static void backwards(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    note(n);
    while (n > 0)
        call(context, --n);
}

/* One that is being shut down. */
static void none(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    (void)call;
    (void)context;
    note(n);
}

static void last_only(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    note(n);
    call(context, n - 1);
}

static void same_number(void *user, uint32_t n, ssq_cpu_share call,
                        void *context)
{
    (void)user;
    note(n);
    for (uint32_t i = 0; i < n; i++)
        call(context, 0);
}

/* Returns as soon as all parts are in the middle of their first tasks. */
static struct {
    pthread_t thread[SIZE];
    struct cpu_lent_part part[SIZE];
    uint32_t n;
    atomic_bool came[SIZE];
    atomic_uint arrived;
} early;

static void early_task(void *context, uint32_t i, uint32_t worker)
{
    if (worker < SIZE && !atomic_exchange(&early.came[worker], true)) {
        atomic_fetch_add(&early.arrived, 1);
        while (atomic_load(&early.arrived) < SIZE)
            usleep(10);
        usleep(100);
    }
    task(context, i, worker);
}

static void too_early(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    note(n);
    early.n = n;
    for (uint32_t i = 0; i < n; i++) {
        early.part[i] = (struct cpu_lent_part){call, context, i, 1};
        if (pthread_create(&early.thread[i], NULL, call_part, &early.part[i]) !=
            0)
            tap_bail("no thread for a share");
    }
    while (atomic_load(&early.arrived) < n)
        usleep(10);
}

static struct team *team_of(void (*f)(void *, uint32_t, ssq_cpu_share, void *),
                            bool survives)
{
    struct team *team = NULL;
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.parallel_for = f;
    o.survives_fork = survives;
    NEED(team_create(SIZE, &o, &team));
    memset(&loop, 0, sizeof(loop));
    memset(&lent, 0, sizeof(lent));
    return team;
}

static bool done(uint32_t n, unsigned times)
{
    for (uint32_t i = 0; i < MOST; i++)
        if (atomic_load(&loop.done[i]) != (i < n ? times : 0))
            return false;
    return loop.overlaps == 0 && loop.strangers == 0 && lent.wrong == 0;
}

static const struct {
    const char *name;
    void (*f)(void *, uint32_t, ssq_cpu_share, void *);
} ways[] = {
    {"all at a time", at_once},
    {"one after the other, backwards", backwards},
    {"the last alone", last_only},
    {"none", none},
    {"each three times", thrice},
    {"the first four times", same_number},
};

static void test_ways(void)
{
    static const uint32_t n[] = {2, 3, 4, 5, 100, MOST};
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
        for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
            struct team *team = team_of(ways[w].f, false);
            parallel_for(team, n[i], task, NULL);
            tap_ok(done(n[i], 1) && lent.calls == 1, "%u tasks: %s",
                   (unsigned)n[i], ways[w].name);
            team_destroy(&team);
        }
    struct team *team = team_of(at_once, false);
    parallel_for(team, 0, task, NULL);
    parallel_for(team, 1, task, NULL);
    tap_ok(done(1, 1) && lent.calls == 0,
           "of one task and of none the program does not hear");
    team_destroy(&team);
}

/* Wait for their current task. */
static void test_early(void)
{
    struct team *team = team_of(too_early, false);
    bool good = true;
    for (int i = 0; i < 20; i++) {
        memset(&loop, 0, sizeof(loop));
        memset(&early, 0, sizeof(early));
        parallel_for(team, 1000, early_task, NULL);
        good = good && done(1000, 1);
        for (uint32_t t = 0; t < early.n; t++)
            pthread_join(early.thread[t], NULL);
    }
    tap_ok(good, "a parallel-for that returns too early");
    team_destroy(&team);
}

/* ---- parts that come too late ---- */

#define KEPT 300

static struct cpu_lent_part late[KEPT];
static unsigned nlate;

static void keeps(void *user, uint32_t n, ssq_cpu_share call, void *context)
{
    (void)user;
    for (uint32_t i = 0; i < n; i++)
        call(context, i);
    if (nlate < KEPT)
        late[nlate++] = (struct cpu_lent_part){call, context, 0, 1};
}

static void *call_all(void *unused)
{
    for (unsigned i = 0; i < nlate; i++)
        late[i].call(late[i].context, i);
    return unused;
}

/* In a loop: parts of loops before it, on this thread and another. */
static void calls_late(void *user, uint32_t n, ssq_cpu_share call,
                       void *context)
{
    pthread_t thread;
    (void)user;
    if (pthread_create(&thread, NULL, call_all, NULL) != 0)
        tap_bail("no thread");
    (void)call_all(NULL);
    for (uint32_t i = 0; i < n; i++)
        call(context, i);
    pthread_join(thread, NULL);
}

static void test_late(void)
{
    struct team *team = team_of(keeps, false);
    for (unsigned i = 0; i < KEPT; i++)
        parallel_for(team, SIZE, task, NULL);
    team_destroy(&team);
    (void)call_all(NULL);
    team = team_of(calls_late, false);
    parallel_for(team, MOST, task, NULL);
    tap_ok(nlate == KEPT && done(MOST, 1),
           "shares of %u loops that are over do nothing", nlate);
    team_destroy(&team);
}

/* Loops within tasks of the program's own loops, of one team. */
static struct team *shared;

static void inner(void *context, uint32_t i)
{
    (void)context;
    (void)i;
    parallel_for(shared, 500, task, NULL);
}

static void quiet_task(void *context, uint32_t i, uint32_t worker)
{
    (void)worker;
    atomic_fetch_add((atomic_uint *)context + i, 1);
}

static atomic_uint outer_done[8];

static void outer_task(void *context, uint32_t i, uint32_t worker)
{
    (void)worker;
    (void)context;
    parallel_for(shared, 4, quiet_task, &outer_done[i % 2 * 4]);
}

static void test_nested(void)
{
    shared = team_of(at_once, false);
    pthread_t thread[3];
    struct cpu_lent_part s[3];
    for (int i = 0; i < 3; i++) {
        s[i] = (struct cpu_lent_part){inner, NULL, 0, 1};
        if (pthread_create(&thread[i], NULL, call_part, &s[i]) != 0)
            tap_bail("no thread");
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    bool good = true;
    for (int i = 0; i < MOST; i++)
        good = good && atomic_load(&loop.done[i]) == (i < 500 ? 3 : 0);
    tap_ok(good && loop.strangers == 0, "three callers at a time");
    parallel_for(shared, 10, outer_task, NULL);
    good = true;
    for (int i = 0; i < 8; i++)
        good = good && atomic_load(&outer_done[i]) == 5;
    tap_ok(good, "ten loops within a loop");
    team_destroy(&shared);
}

static int in_child(void *survives)
{
    memset(&loop, 0, sizeof(loop));
    memset(&lent, 0, sizeof(lent));
    parallel_for(shared, 1000, task, NULL);
    return done(1000, 1) && (lent.calls > 0) == (survives != NULL) ? 0 : 1;
}

static void test_fork(void)
{
    for (int survives = 0; survives < 2; survives++) {
        shared = team_of(at_once, survives);
        parallel_for(shared, 100, task, NULL);
        int st = tap_fork(in_child, survives ? &shared : NULL, 60);
        tap_ok(tap_exited(st, 0), "a child %s the program: %s",
               survives ? "asks" : "does not ask", tap_status(st));
        parallel_for(shared, 100, task, NULL);
        tap_ok(done(100, 2) && lent.calls == 2, "its parent does");
        team_destroy(&shared);
    }
}

int main(void)
{
    (void)ssq_device_count(); /* a device installs fork handlers */
    test_ways();
    test_early();
    test_late();
    test_nested();
    test_fork();
    return tap_done(45);
}
