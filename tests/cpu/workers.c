/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c - the threads that a team starts, as the system sees them: their
 * name, signals, stack and processors; their values when the program is bound,
 * short of stack, or given no threads; and how many there are unless told, by
 * control groups of both versions. */
#define _GNU_SOURCE
#include "backends/cpu/threads/parallel.h"
#include "tests/core/core.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 64

/* The values that threads of the loop report: [0] is the caller. */
struct workers_seen {
    struct team *team;
    pthread_barrier_t all;
    char name[MOST][32];
    sigset_t blocked[MOST];
    cpu_set_t where[MOST];
    size_t stack[MOST];
};

static void look(void *context, uint32_t i, uint32_t worker)
{
    struct workers_seen *s = context;
    pthread_attr_t attr;
    (void)i;
    pthread_barrier_wait(&s->all); /* a task for each thread */
    (void)pthread_getname_np(pthread_self(), s->name[worker],
                             sizeof(s->name[worker]));
    (void)pthread_sigmask(SIG_BLOCK, NULL, &s->blocked[worker]);
    (void)sched_getaffinity(0, sizeof(s->where[worker]), &s->where[worker]);
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        (void)pthread_attr_getstacksize(&attr, &s->stack[worker]);
        pthread_attr_destroy(&attr);
    }
}

static void ask(struct workers_seen *s)
{
    uint32_t n = team_size(s->team);
    if (pthread_barrier_init(&s->all, NULL, n) != 0)
        tap_bail("no barrier");
    parallel_for(s->team, n, look, s);
    pthread_barrier_destroy(&s->all);
}

static void test_looks(void)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    static const int programs[] = {SIGCHLD, SIGINT,  SIGTERM, SIGALRM,
                                   SIGUSR1, SIGPIPE, SIGHUP,  SIGPROF};
    static struct workers_seen s;
    sigset_t before, after;
    if (!tap_ok(team_create(3, NULL, &s.team) == SSQ_OK, "a team of 3"))
        return;
    /* the C library writes no more of a set than the kernel has */
    memset(&before, 0, sizeof(before));
    memset(&after, 0, sizeof(after));
    (void)pthread_sigmask(SIG_BLOCK, NULL, &before);
    ask(&s);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
    tap_ok(memcmp(&before, &after, sizeof(before)) == 0,
           "the caller's signals are what they were");
    for (int w = 1; w < 3; w++) {
        bool free_ones = true, blocked = true;
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            free_ones = free_ones && !sigismember(&s.blocked[w], own[i]);
        for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
            blocked = blocked && sigismember(&s.blocked[w], programs[i]) == 1;
        tap_ok(strcmp(s.name[w], "sesqui-cpu") == 0, "thread %d is \"%s\"", w,
               s.name[w]);
        tap_ok(blocked, "thread %d hears none of the program's signals", w);
        tap_ok(free_ones, "thread %d lets its own faults through", w);
    }
    tap_ok(strcmp(s.name[0], "sesqui-cpu") != 0,
           "the caller's name is its own: \"%s\"", s.name[0]);
    team_destroy(&s.team);
}

/* The first caller may be bound to one processor by then; the team's threads
 * are as free as its maker was. */
static void test_places(void)
{
    static struct workers_seen s;
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2) {
        tap_skip("there is one processor", "a caller that is bound to one");
        return;
    }
    int first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_SET(first, &one);
    NEED(team_create(3, NULL, &s.team));
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        tap_bail("the test cannot be bound");
    ask(&s);
    tap_ok(CPU_EQUAL(&s.where[1], &all) && CPU_EQUAL(&s.where[2], &all),
           "a caller that is bound to processor %d does not bind the others",
           first);
    tap_ok(CPU_EQUAL(&s.where[0], &one), "and stays where it was put");
    team_destroy(&s.team);
    (void)sched_setaffinity(0, sizeof(one), &one);
    NEED(team_create(2, NULL, &s.team));
    ask(&s);
    tap_ok(CPU_EQUAL(&s.where[1], &one),
           "a team that is made by a bound thread is bound");
    team_destroy(&s.team);
    (void)sched_setaffinity(0, sizeof(all), &all);
}

/* The limit counts for threads that say nothing of their stacks: glibc reads it
 * when a process begins, so that this one has to begin again. */
static int with_little_stack(void *self)
{
    struct rlimit little = {256u << 10, 256u << 10};
    if (setrlimit(RLIMIT_STACK, &little) != 0)
        return 2;
    execl(self, self, "stack", (char *)NULL);
    return 3;
}

static int stack_is_enough(void)
{
    static struct workers_seen s;
    if (team_create(2, NULL, &s.team) != SSQ_OK)
        return 2;
    ask(&s);
    team_destroy(&s.team);
    return s.stack[1] >= 2u << 20 ? 0 : 1;
}

static void count(void *context, uint32_t i, uint32_t worker)
{
    atomic_uint *done = context;
    (void)i;
    atomic_fetch_add(&done[worker < 4 ? worker : 4], 1);
}

static void hear(void *lines, ssq_log_level level, const char *text)
{
    *(int *)lines += level == SSQ_LOG_WARNING &&
                     strcmp(text, "cpu: 1 of 4 threads: the system starts no "
                                  "more") == 0;
}

/* root may have threads beyond the limit: so this is someone else. */
static int without_threads(void *unused)
{
    struct rlimit none = {0, 0};
    atomic_uint done[5] = {0};
    struct team *team = NULL;
    int lines = 0;
    (void)unused;
    ssq_log_set(hear, &lines);
    if (setrlimit(RLIMIT_NPROC, &none) != 0 ||
        (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
        return 2;
    if (team_create(4, NULL, &team) != SSQ_OK)
        return 3;
    for (int i = 0; i < 10; i++)
        parallel_for(team, 1000, count, done);
    team_destroy(&team);
    if (done[1] + done[2] + done[3] + done[4] > 0)
        return 4; /* there were threads: this has tested nothing */
    if (lines != 1)
        return 5; /* it is said once, not by each loop */
    return done[0] == 10000 ? 0 : 1;
}

static char folder[256];

static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    FILE *f = fopen(path, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        tap_bail("%s cannot be written", path);
}

/* The quota in files below a folder. UINT32_MAX: no limit. */
static void grants(uint32_t want, const char *what, const char *group)
{
    char path[512];
    put("group", group);
    snprintf(path, sizeof(path), "%s/group", folder);
    uint32_t n = team_granted(path, folder);
    tap_ok(n == want, "%s grants %u processors", what, (unsigned)n);
}

static void test_groups(void)
{
    const uint32_t all = UINT32_MAX;
    snprintf(folder, sizeof(folder), "%s/ssq-groups-%ld", "/tmp",
             (long)getpid());
    if (mkdir(folder, 0700) != 0)
        tap_bail("%s cannot be made", folder);
    grants(all, "a group without files", "0::/a/b\n");
    put("a/cpu.max", "350000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    grants(4, "the group above", "0::/a/b\n");
    put("a/b/cpu.max", "200000 100000\n");
    grants(2, "the group itself", "0::/a/b\n");
    put("cpu.max", "50000 100000\n");
    grants(1, "half a processor for all", "0::/a/b\n");
    put("cpu.max", "9223372036854775807 9223372036854775807\n");
    grants(1, "the largest numbers that there are", "0::/\n");
    put("cpu.max", "-1 100000\n");
    grants(all, "a quota of -1", "0::/\n");
    put("cpu.max", "100000 0\n");
    grants(all, "a period of 0", "0::/\n");
    put("cpu.max", "nonsense\n");
    grants(all, "nonsense", "0::/\n");
    put("cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
    put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    grants(3, "a hierarchy of the first version", "7:cpu,cpuacct:/x\n0::/\n");
    grants(3, "one below it", "7:cpu,cpuacct:/x/y\n0::/\n");
    put("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    grants(all, "one without a limit", "7:cpu,cpuacct:/\n0::/\n");
    put("cpuset/x/cpu.cfs_quota_us", "100000\n");
    put("cpuset/x/cpu.cfs_period_us", "100000\n");
    grants(all, "one that is not of time", "3:cpuset:/x\n");
    grants(all, "a file of nothing that is known", "\n:\n::\n1:cpu:\n0::x\n");
    char path[512];
    snprintf(path, sizeof(path), "%s/there-is-none", folder);
    tap_ok(team_granted(path, folder) == all, "no file is no limit");
    snprintf(path, sizeof(path), "rm -rf '%s'", folder);
    tap_ok(system(path) == 0, "the folder is gone");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return stack_is_enough();
    (void)ssq_device_count(); /* a device installs fork handlers */
    test_looks();
    test_places();
    int st = tap_fork(with_little_stack, argv[0], 60);
    tap_ok(tap_exited(st, 0), "stacks are large where the limit is small: %s",
           tap_status(st));
    st = tap_fork(without_threads, NULL, 60);
    if (tap_exited(st, 2) || tap_exited(st, 4))
        tap_skip("the system gives threads all the same", "no threads");
    else
        tap_ok(tap_exited(st, 0),
               "without threads the caller does it all, and the log says so "
               "once: %s",
               tap_status(st));
    test_groups();
    return tap_done(28);
}
