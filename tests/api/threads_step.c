/* SPDX-License-Identifier: Apache-2.0 */
/* threads_step.c - training on distinct devices at the same time: every thread
 * runs the whole program and learns the same bits. Meant for a race detector.
 */
#include <pthread.h>

#include "tests/api/training.h"
#include "tests/core/core.h"

#define THREADS 4
#define ROUNDS  5

struct threads_step_worker {
    pthread_t thread;
    const char *name;
    int failed; /* the stage + 1; 0 none */
    char text[256];
    struct learnt end;
};

/* The whole program; its last state stays in w->end. */
static bool train(struct threads_step_worker *w)
{
    struct training p = {.name = w->name};
    size_t i = 0;

    while (i < TRAINING_STAGES && training_stages[i].run(&p) == SSQ_OK)
        i++;
    bool done = i == TRAINING_STAGES && learnt_take(&p, &w->end) == SSQ_OK;
    if (!done) {
        w->failed = (int)i + 1;
        snprintf(w->text, sizeof(w->text), "%s", ssq_last_error());
    }
    training_close(&p);
    return done;
}

static void *run(void *arg)
{
    struct threads_step_worker *w = arg;

    for (int i = 0; i < ROUNDS && train(w); i++)
        ;
    return NULL;
}

/* names: two devices that the threads take in turn. */
static void test(const char *even, const char *odd, const struct learnt *want)
{
    static struct threads_step_worker w[THREADS];
    int failed = 0, wrong = 0;

    for (int i = 0; i < THREADS; i++) {
        memset(&w[i], 0, sizeof(w[i]));
        w[i].name = i % 2 == 0 ? even : odd;
        if (pthread_create(&w[i].thread, NULL, run, &w[i]) != 0)
            tap_bail("no thread %d", i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        failed += w[i].failed != 0;
        wrong += !learnt_same(&w[i].end, want);
        if (w[i].failed != 0)
            tap_diag("thread %d, stage %d: %s", i, w[i].failed - 1, w[i].text);
    }
    tap_ok(failed == 0, "%d threads train %d times on %s and %s: %d fail",
           THREADS, ROUNDS, even, odd, failed);
    tap_ok(wrong == 0, "%s and %s: %d of them learn other bits", even, odd,
           wrong);
}

int main(void)
{
    static struct threads_step_worker alone = {.name = "reference"};

    if (!train(&alone))
        tap_bail("stage %d: %s", alone.failed - 1, alone.text);
    tap_ok(alone.end.bytes > 1000, "alone it learns %zu bytes",
           alone.end.bytes);
    test("reference", "reference", &alone.end);
    test("guard", "guard", &alone.end);
    test("reference", "guard", &alone.end);
    return tap_done(7);
}
