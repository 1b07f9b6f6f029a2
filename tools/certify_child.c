/* SPDX-License-Identifier: Apache-2.0 */
/* certify_child.c - the process of `sesqui certify` that a driver may kill. */
#include "conformance/suite.h"
#include "tools/certify.h"

/** Seconds between two lines that report the progress of a table. */
#define TOLD 0.1

/* The running table. */
struct certify_child_run {
    struct certify_counts counts;
    double told;
};

/* Count a case, as suite_report_fn. A failure is also printed on standard error
 * immediately: that is not part of the protocol. */
static void certify_child_count(void *user, const char *device,
                                const char *impl, const struct suite *suite,
                                size_t i, const struct harness *b, bool ok)
{
    struct certify_child_run *r = user;
    char text[256];
    if (now() - r->told > TOLD) {
        r->told = now();
        printf("at %zu %zu %lu\n", i + 1, suite->n, r->counts.failed);
        fflush(stdout);
    }
    if (b->skipped && b->elsewhere)
        return;
    r->counts.cases++;
    r->counts.failed += !ok;
    r->counts.skipped += b->skipped;
    if (ok)
        return;
    suite->describe(i, text, sizeof(text));
    fprintf(stderr, "sesqui: certify: %s/%s: %s: %s\n", device, impl, text,
            b->text);
}

int certify_child(const struct options *o)
{
    ssq_device *d = NULL;
    if (ssq_device_open(o->device, NULL, &d) != SSQ_OK)
        return complain("certify");
    ssq_device_close(&d);
    printf("open\n");
    for (size_t i = o->first - 1; suites[i] != NULL; i++) {
        if (!suite_named(suites[i], o->op))
            continue;
        struct certify_child_run r = {.told = now()};
        printf("begin %zu\n", i);
        fflush(stdout);
        suite_run(suites[i], o->device, false, certify_child_count, &r);
        printf("end %lu %lu %lu\n", r.counts.cases, r.counts.failed,
               r.counts.skipped);
        fflush(stdout);
    }
    suite_end();
    printf("done\n");
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}
