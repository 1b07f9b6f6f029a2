/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - a small pool of threads for loops.
 *
 * Each thread gets a part of a loop's tasks, which are neighbours, and helps
 * others when it is done. So its data of one loop is in its own caches in the
 * next loop. Access to another core's caches may be slow.
 *
 * The open work of a part is one word: the loop's number and how many of
 * its tasks no one has taken yet. A thread takes one by counting the word down,
 * which fails as soon as the number is another: a thread that was asleep while
 * a loop came and went has nothing to undo, and no one waits for it. A task
 * that is taken and not finished keeps its loop from ending, and so the loop's
 * other words from changing while it reads them.
 *
 *     todo      [ number of the loop | tasks left ], of each part
 *     finished  tasks that are done: the caller sleeps on it
 *     called    counts loops: threads sleep on it */
#define _GNU_SOURCE
#include "backends/cpu/threads/parallel.h"

#include "backends/cpu/threads/lent.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fork.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/base/object.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

/* Bytes of stack that a thread has at least, even if the program's limit is
 * lower: for the variables of kernels, and for a sanitizer. */
#define STACK (2u << 20)

/* How long a thread looks for work before it sleeps: longer than the host needs
 * from one op of a training step to the next, in PyTorch as well. To wake a
 * thread takes longer than many ops. */
#define LOOK_NS 100000

/* At most 15 characters. */
#define THREAD_NAME "sesqui-cpu"

struct worker {
    struct team *team;
    pthread_t thread;
    uint32_t number;
    uint32_t end;          /* of its part, whose tasks come before */
    _Atomic uint64_t todo; /* of its part */
    _Atomic pid_t asleep;  /* its system's number while it sleeps, else 0 */
    char apart[64];        /* from the next one's, a cache line away */
};

struct team {
    uint32_t size,
        started;    /* threads, and the ones that run, without the caller */
    unsigned forks; /* fork_count() of the process that started them */
    ssq_cpu_options lent; /* with a parallel_for: its threads are used */
    cpu_set_t where;      /* processors that they may run on */
    bool placed;          /* where is known */
    bool told;            /* that the system gives fewer threads */
    bool woken;           /* threads were, since the caller's last task */
    pthread_mutex_t lock; /* a loop's; guards all that is not atomic */
    _Atomic uint32_t finished, called, asleep, waiting;
    atomic_bool over;
    /* of the loop */
    uint32_t n;
    team_task task;
    void *context;
    struct worker worker[]; /* worker[0] is the caller */
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int threads)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Let the other thread of this core go first. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Poll *word for a while; true as soon as it differs from value. */
static bool changes(_Atomic uint32_t *word, uint32_t value)
{
    int64_t end = now_ns() + LOOK_NS;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load(word) != value)
                return true;
            relax();
        }
    } while (now_ns() < end);
    return false;
}

/* After the caller's first task: a thread that was woken and still does not run
 * may wait for the caller's own processor. Then it is moved to another one. The
 * system itself may take ten milliseconds to do so, even if a processor is
 * idle, and until then the caller does all the work. */
static void parallel_separate(struct team *t)
{
    int here = sched_getcpu();
    for (uint32_t i = 1; here >= 0 && i <= t->started; i++) {
        pid_t id = atomic_load(&t->worker[i].asleep);
        cpu_set_t may, others;
        if (id == 0 || sched_getaffinity(id, sizeof(may), &may) != 0)
            continue;
        others = may;
        CPU_CLR((size_t)here, &others);
        if (sched_setaffinity(id, sizeof(others), &others) == 0)
            (void)sched_setaffinity(id, sizeof(may), &may);
    }
    t->woken = false;
}

/* Take tasks of a part of loop `number` until there are none left. */
static void work_on(struct team *t, struct worker *owner, uint32_t number,
                    uint32_t worker)
{
    uint64_t todo = atomic_load(&owner->todo);
    while ((uint32_t)(todo >> 32) == number && (uint32_t)todo != 0) {
        if (!atomic_compare_exchange_weak(&owner->todo, &todo, todo - 1))
            continue;
        uint32_t n = t->n;
        t->task(t->context, owner->end - (uint32_t)todo, worker);
        if (atomic_fetch_add(&t->finished, 1) + 1 == n &&
            atomic_load(&t->waiting) != 0)
            futex_wake(&t->finished, 1);
        if (worker == 0 && t->woken)
            parallel_separate(t);
        todo = atomic_load(&owner->todo);
    }
}

/* The worker's own part, then others'. */
static void parallel_work(struct team *t, uint32_t number, uint32_t worker)
{
    for (uint32_t i = 0; i < t->size; i++)
        work_on(t, &t->worker[(worker + i) % t->size], number, worker);
}

static void *thread_main(void *of)
{
    struct worker *w = of;
    struct team *t = w->team;
    struct fpenv env = fpenv_enter();
    uint32_t called = 0;
    pid_t id = (pid_t)syscall(SYS_gettid);
    (void)pthread_setname_np(pthread_self(), THREAD_NAME);
    /* where the team's creator might run, and not only where the caller of the
     * first loop may: that is often bound to one processor. If the thread may
     * not run there any more, it stays where it is. */
    if (t->placed)
        (void)sched_setaffinity(0, sizeof(t->where), &t->where);
    while (!atomic_load(&t->over)) {
        uint32_t number = atomic_load(&t->called);
        if (number != called) {
            called = number;
            parallel_work(t, number, w->number);
        } else if (!changes(&t->called, called)) {
            atomic_store(&w->asleep, id);
            atomic_fetch_add(&t->asleep, 1);
            if (!atomic_load(&t->over))
                futex_wait(&t->called, called);
            atomic_fetch_sub(&t->asleep, 1);
            atomic_store(&w->asleep, 0);
        }
    }
    fpenv_leave(env);
    return NULL;
}

static bool start_one(struct worker *w)
{
    pthread_attr_t attr;
    size_t stack = 0;
    if (pthread_attr_init(&attr) != 0)
        return false;
    if (pthread_attr_getstacksize(&attr, &stack) == 0 && stack < STACK)
        (void)pthread_attr_setstacksize(&attr, STACK);
    bool started = pthread_create(&w->thread, &attr, thread_main, w) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

/* Signals that a thread raises itself go to the program's handlers, from
 * no matter which thread; a blocked one would end the process without. */
static void block_signals(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&set, own[i]);
    pthread_sigmask(SIG_SETMASK, &set, old);
}

/* Every loop asks for the threads that are missing; one line says so. */
static void tell_fewer(struct team *t)
{
    if (!t->told)
        log_line(SSQ_LOG_WARNING, "device",
                 "cpu: %u of %u threads: the system starts no more",
                 (unsigned)(t->started + 1), (unsigned)t->size);
    t->told = true;
}

/* Threads have no business with the program's other signals. With the lock;
 * threads that the system does not create are not needed. */
static void parallel_start(struct team *t)
{
    sigset_t old;
    if (t->forks != fork_count()) { /* this is a child, and they are not here */
        t->forks = fork_count();
        t->started = 0;
        atomic_store(&t->asleep, 0);
    }
    if (t->started + 1 >= t->size)
        return;
    block_signals(&old);
    while (t->started + 1 < t->size) {
        struct worker *w = &t->worker[t->started + 1];
        *w = (struct worker){.team = t, .number = t->started + 1};
        if (!start_one(w))
            break;
        t->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (t->started + 1 < t->size)
        tell_fewer(t);
}

/* All tasks are taken: wait for the tasks of other threads. */
static void wait_for_all(struct team *t)
{
    for (uint32_t done = atomic_load(&t->finished); done != t->n;
         done = atomic_load(&t->finished)) {
        if (changes(&t->finished, done))
            continue;
        atomic_store(&t->waiting, 1);
        done = atomic_load(&t->finished);
        if (done != t->n)
            futex_wait(&t->finished, done);
        atomic_store(&t->waiting, 0);
    }
}

/* Give n tasks out, in order: the first ones to worker 0, the caller. No thread
 * knows the loop's number before all are given out. */
static void team_divide(struct team *t, uint32_t n, uint32_t number)
{
    uint64_t from = 0, size = t->size;
    for (uint32_t i = 0; i < size; i++) {
        uint64_t end = ((uint64_t)n * (i + 1) + size - 1) / size;
        t->worker[i].end = (uint32_t)end;
        atomic_store(&t->worker[i].todo, (uint64_t)number << 32 | (end - from));
        from = end;
    }
}

/* On threads of the team's own. With the lock. */
static void parallel_run(struct team *team, uint32_t n, team_task task,
                         void *context)
{
    parallel_start(team);
    team->n = n;
    team->task = task;
    team->context = context;
    atomic_store(&team->finished, 0);
    uint32_t number = atomic_load(&team->called) + 1;
    team_divide(team, n, number);
    atomic_store(&team->called, number);
    team->woken = atomic_load(&team->asleep) != 0;
    if (team->woken)
        futex_wake(&team->called, (int)(n < team->size ? n : team->size) - 1);
    parallel_work(team, number, 0);
    wait_for_all(team);
}

/* In a child of fork the program's threads do not exist, unless it says that
 * its function knows. */
static bool lends(const struct team *team)
{
    return team_lent(team) &&
           (team->lent.survives_fork || team->forks == fork_count());
}

void parallel_for(struct team *team, uint32_t n, team_task task, void *context)
{
    bool alone = n <= 1 || team->size == 1;
    if (alone || (team_lent(team) && !lends(team))) {
        for (uint32_t i = 0; i < n; i++)
            task(context, i, 0);
    } else if (team_lent(team)) {
        lent_for(&team->lent, team->size, n, task, context);
    } else {
        pthread_mutex_lock(&team->lock);
        parallel_run(team, n, task, context);
        pthread_mutex_unlock(&team->lock);
    }
}

uint32_t team_size(const struct team *team)
{
    return team->size;
}

bool team_lent(const struct team *team)
{
    return team->lent.parallel_for != NULL;
}

ssq_status team_create(uint32_t size, const ssq_cpu_options *lent,
                       struct team **team)
{
    size_t bytes = sizeof(struct team) + size * sizeof(struct worker);
    struct team *t = mem_alloc(bytes);
    if (t == NULL)
        return error_nomem("cpu", bytes);
    t->size = size;
    t->forks = fork_count();
    if (lent != NULL)
        t->lent = *lent;
    t->placed = sched_getaffinity(0, sizeof(t->where), &t->where) == 0;
    pthread_mutex_init(&t->lock, NULL);
    *team = t;
    return SSQ_OK;
}

void team_destroy(struct team **team)
{
    struct team *t = *team;
    if (t == NULL)
        return;
    if (t->forks == fork_count()) {
        atomic_store(&t->over, true);
        atomic_fetch_add(&t->called, 1);
        futex_wake(&t->called, (int)t->size);
        for (uint32_t i = 1; i <= t->started; i++)
            pthread_join(t->worker[i].thread, NULL);
    }
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
    *team = NULL;
}

void team_hold(struct team *team)
{
    pthread_mutex_lock(&team->lock);
}

void team_let_go(struct team *team)
{
    pthread_mutex_unlock(&team->lock);
}
