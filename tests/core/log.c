/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - tests of the log callback: when it is replaced it is out of use. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "lib/core/base/error.h"
#include "tests/core/core.h"

/** The data that a callback gives a test, and waits for. */
struct log_gate {
    sem_t entered, leave;
    atomic_int running; /* in it now */
    atomic_int heard;   /* lines */
};

static void gate_open(struct log_gate *g)
{
    memset(g, 0, sizeof(*g));
    sem_init(&g->entered, 0, 0);
    sem_init(&g->leave, 0, 0);
}

static void hear(void *user, ssq_log_level level, const char *text)
{
    struct log_gate *g = user;

    (void)level;
    (void)text;
    atomic_fetch_add(&g->running, 1);
    atomic_fetch_add(&g->heard, 1);
    sem_post(&g->entered);
    sem_wait(&g->leave);
    atomic_fetch_sub(&g->running, 1);
}

static void *say(void *unused)
{
    log_line(SSQ_LOG_INFO, "test", "a line");
    return unused;
}

/* A thread that sets the callback, and what it found when it was back. */
struct setter {
    pthread_t thread;
    struct log_gate *old, *fresh; /* fresh: to be set; NULL: none */
    atomic_int back; /* 0 not yet; 1: the old one had ended, 2: had not */
};

static void *set(void *arg)
{
    struct setter *s = arg;

    ssq_log_set(s->fresh == NULL ? NULL : hear, s->fresh);
    atomic_store(&s->back, atomic_load(&s->old->running) == 0 ? 1 : 2);
    return NULL;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;

    if (pthread_create(&t, NULL, fn, arg) != 0)
        tap_bail("no thread");
    return t;
}

static void nap(void)
{
    const struct timespec t = {0, 100000000};

    nanosleep(&t, NULL);
}

static void test_waits(void)
{
    static struct log_gate g;
    static struct setter s;
    pthread_t speaker[2];

    gate_open(&g);
    s.old = &g;
    ssq_log_set(hear, &g);
    for (int i = 0; i < 2; i++) {
        speaker[i] = start(say, NULL);
        sem_wait(&g.entered);
    }
    s.thread = start(set, &s);
    nap();
    tap_ok(atomic_load(&s.back) == 0,
           "log_set is not back while two threads are in the old callback");
    sem_post(&g.leave);
    nap();
    tap_ok(atomic_load(&s.back) == 0, "nor while one is");
    sem_post(&g.leave);
    pthread_join(s.thread, NULL);
    tap_ok(atomic_load(&s.back) == 1, "it is back when both have left it");
    for (int i = 0; i < 2; i++)
        pthread_join(speaker[i], NULL);
    say(NULL);
    tap_ok(atomic_load(&g.heard) == 2, "the old callback hears no more");
}

/* A thread in the new callback does not delay the thread that replaced the old
 * one. */
static void test_newer(void)
{
    static struct log_gate older, newer;
    static struct setter s;
    pthread_t a, b;

    gate_open(&older);
    gate_open(&newer);
    ssq_log_set(hear, &older);
    a = start(say, NULL);
    sem_wait(&older.entered);
    s.old = &older;
    s.fresh = &newer;
    s.thread = start(set, &s); /* waits for a */
    nap();
    b = start(say, NULL);
    sem_wait(&newer.entered);
    sem_post(&older.leave);
    pthread_join(s.thread, NULL);
    tap_ok(atomic_load(&s.back) == 1 && atomic_load(&newer.running) == 1,
           "who waits for the old callback does not wait for the new one");
    sem_post(&newer.leave);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    ssq_log_set(NULL, NULL);
}

/* ---- in a callback ---- */

static pthread_barrier_t both;
static atomic_int replaced;

static void replace(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    pthread_barrier_wait(&both); /* each thread is in one */
    ssq_log_set(NULL, NULL);
    atomic_fetch_add(&replaced, 1);
}

static int replace_inside(void *unused)
{
    pthread_t a, b;

    (void)unused;
    pthread_barrier_init(&both, NULL, 2);
    ssq_log_set(replace, NULL);
    a = start(say, NULL);
    b = start(say, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return atomic_load(&replaced) == 2 ? 0 : 1;
}

int main(void)
{
    int st = tap_fork(replace_inside, NULL, 20);

    tap_ok(tap_exited(st, 0),
           "two threads may replace the callback that they are in: %s",
           tap_status(st));
    test_waits();
    test_newer();
    return tap_done(6);
}
