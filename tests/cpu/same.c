/* SPDX-License-Identifier: Apache-2.0 */
/* same.c - the op tables on cpu with 1, 2 and 3 threads, which must give the
 * same bits, and with every set of instructions, which must pass. The device
 * reads both when it opens. Every 29th case, under a checker that is twenty
 * times slower every 61st; all with SSQ_TEST_FULL=1. */
#include "conformance/suite.h"
#include "tests/tap.h"
#include "tests/cpu/sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The results of the runs of one configuration, of one table after the other.
 */
struct same_digests {
    uint64_t *digest;
    size_t n, room, failed;
};

/* A configuration of the device. */
struct way {
    const char *threads, *isa;
};

static void note(void *user, const char *device, const char *impl,
                 const struct suite *suite, size_t i, const struct harness *b,
                 bool ok)
{
    struct same_digests *d = user;
    char text[256];
    if (b->idle)
        return;
    if (d->n == d->room) {
        d->room = d->room == 0 ? 1024 : 2 * d->room;
        d->digest = realloc(d->digest, d->room * sizeof(*d->digest));
        if (d->digest == NULL)
            tap_bail("no memory for %zu digests", d->room);
    }
    d->digest[d->n++] = b->digest;
    if (ok || b->skipped)
        return;
    d->failed++;
    suite->describe(i, text, sizeof(text));
    tap_diag("%s/%s: %s: %s", device, impl, text, b->text);
}

static void run(const struct suite *suite, const struct way *way,
                struct same_digests *d)
{
    d->n = d->failed = 0;
    setenv("SSQ_NUM_THREADS", way->threads, 1);
    if (way->isa == NULL)
        unsetenv("SSQ_CPU_ISA");
    else
        setenv("SSQ_CPU_ISA", way->isa, 1);
    suite_run(suite, "cpu", false, note, d);
}

static bool equal(const struct same_digests *a, const struct same_digests *b)
{
    return a->n > 0 && a->n == b->n &&
           memcmp(a->digest, b->digest, a->n * sizeof(*a->digest)) == 0;
}

int main(void)
{
    static const struct way more[] = {{"1", NULL}, {"3", NULL}},
                            other[] = {{"2", "avx2"}, {"3", "plain"}};
    const char *sets[SETS_MOST];
    const size_t others = sets_find(sets) - 1;
    const char *brief = getenv("SSQ_TEST_SHORT");
    if (!tap_full())
        setenv("SSQ_TEST_STRIDE", brief == NULL ? "29" : "61", 0);
    struct same_digests first = {0}, next = {0};
    for (size_t s = 0; suites[s] != NULL; s++) {
        run(suites[s], &(struct way){"2", NULL}, &first);
        tap_ok(first.failed == 0, "%s: %zu results with 2 threads",
               suites[s]->name, first.n);
        for (size_t i = 0; i < 2; i++) {
            run(suites[s], &more[i], &next);
            tap_ok(next.failed == 0 && equal(&first, &next),
                   "%s: %zu results with %s thread(s) have the same bits",
                   suites[s]->name, next.n, more[i].threads);
        }
        for (size_t i = 2 - others; i < 2; i++) {
            run(suites[s], &other[i], &next);
            tap_ok(next.failed == 0 && next.n > 0,
                   "%s: %zu results with %s at most", suites[s]->name, next.n,
                   other[i].isa);
        }
    }
    suite_end();
    free(first.digest);
    free(next.digest);
    return tap_done(120 + 40 * (long)others);
}
