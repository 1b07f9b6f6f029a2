/* SPDX-License-Identifier: Apache-2.0 */
/* suite_run.c - run suites on every device x implementation, as TAP. */
#include "conformance/suite_run.h"

#include "conformance/turns.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 16 /* at most; more are not run */
#define IMPLS   16 /* of an op */

/* reference first: it gives the bits that class B is compared with. */
static size_t open_harnesses(const char *only, struct harness *harnesses,
                             struct harness_state *state)
{
    size_t n = 0, count = ssq_device_count();
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count && n < DEVICES; i++) {
            ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
            bool first = ssq_device_list(i, &e) == SSQ_OK &&
                         strcmp(e.name, "reference") == 0;
            if (!e.available || first != (pass == 0))
                continue;
            if (only != NULL && strcmp(only, e.name) != 0 && !first)
                continue;
            struct harness b = {.props = SSQ_DEVICE_PROPS_INIT, .state = state};
            if (ssq_device_open(e.name, NULL, &b.device) != SSQ_OK)
                continue;
            if (ssq_queue_create(b.device, NULL, &b.queue) != SSQ_OK ||
                ssq_device_props_get(b.device, &b.props) != SSQ_OK) {
                ssq_queue_destroy(&b.queue);
                ssq_device_close(&b.device);
                continue;
            }
            harnesses[n++] = b;
        }
    return n;
}

/* ---- devices, from one suite to the next ---- */

extern char **environ;

/* Opening all devices takes longer than most suites, so they stay open while
 * nothing changes that the library reads as it opens them. There are two sets,
 * because window_test compares devices with and without a limit. */
struct held {
    struct harness harnesses[DEVICES];
    struct harness_state *state; /* NULL: none is open */
    size_t n;
    uint64_t key; /* the options that they were opened with */
};
#define SETS 2
static struct held sets[SETS];

/* Return a hash of `only` and of the library's variables, without the tests'
 * own. */
static uint64_t held_key(const char *only)
{
    const char *text = only == NULL ? "" : only;
    uint64_t sum = 0;
    for (char **at = environ; text != NULL; text = *at++) {
        if (text != only && (strncmp(text, "SSQ_", 4) != 0 ||
                             strncmp(text, "SSQ_TEST_", 9) == 0))
            continue;
        uint64_t hash = 14695981039346656037u; /* FNV-1a */
        for (const char *c = text; *c != '\0'; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        sum += hash;
    }
    return sum;
}

static void held_close(struct held *h)
{
    if (h->state == NULL)
        return;
    for (size_t d = 0; d < h->n; d++) {
        ssq_queue_destroy(&h->harnesses[d].queue);
        ssq_device_close(&h->harnesses[d].device);
    }
    harness_state_destroy(h->state);
    h->state = NULL;
}

/* Not a handler at exit: handlers of drivers, which are registered later, run
 * before it. */
void suite_end(void)
{
    for (int i = 0; i < SETS; i++)
        held_close(&sets[i]);
}

/* Return the set of open devices. A new one replaces the older set. */
static struct held *held_open(const char *only)
{
    static int last = 1; /* the set that was used last */
    const uint64_t key = held_key(only);
    for (int i = 0; i < SETS; i++)
        if (sets[i].state != NULL && sets[i].key == key)
            return &sets[last = i];
    last = last == 0 ? 1 : 0;
    struct held *h = &sets[last];
    held_close(h);
    h->key = key;
    h->state = harness_state_create();
    h->n = open_harnesses(only, h->harnesses, h->state);
    return h;
}

/* How many cases an implementation ran, and why it refused some: its first
 * reasons that differ. */
#define REASONS 4
struct suite_run_use {
    const char *impl; /* NULL: it refused none */
    size_t taken, reasons;
    char text[REASONS][160];
};

static void use_refused(struct suite_run_use *u, const struct harness *b)
{
    char text[sizeof(u->text[0])];
    u->impl = b->impl;
    snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, b->text);
    for (size_t i = 0; i < u->reasons; i++)
        if (strcmp(u->text[i], text) == 0)
            return;
    if (u->reasons < REASONS)
        memcpy(u->text[u->reasons++], text, sizeof(text));
}

/* A run of the tables: the state shared by all of its cases. */
struct conformance_suite_run {
    struct suite_run_use (*use)[IMPLS]; /* of each harness */
    const struct suite *suite;
    const char *only;
    suite_report_fn report;
    void *user;                /* the report's */
    struct harness *harnesses; /* a device each, the reference first */
    size_t n;                  /* harnesses */
    bool take_turns;           /* drivers do */
    struct turns turns;
    bool flushed; /* of the current case: see run_flushed() */
};

/* Does the suite's op lose float32 subnormals on this device? */
static bool suite_run_flushes(const struct suite *suite,
                              const struct harness *b)
{
    return b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED &&
           !suite->subnormals;
}

/* The reference runs first even when it was not asked for, and once more for
 * the ones that flush: it is of their report only if it fails there. */
static bool suite_run_reported(const struct conformance_suite_run *r,
                               const struct harness *b, bool ok)
{
    if (r->only != NULL && strcmp(r->only, b->props.name) != 0)
        return false;
    return suite_run_flushes(r->suite, b) == r->flushed || !ok;
}

/* An implementation that refused a case, and why. */
struct suite_run_refusal {
    const char *impl;
    char text[sizeof(((struct harness *)NULL)->text)];
};

/* Report the n refusals of case i; `elsewhere`: some implementation ran it. */
static void report_refusals(const struct conformance_suite_run *r, size_t i,
                            struct harness *b,
                            const struct suite_run_refusal *refused, size_t n,
                            bool elsewhere)
{
    for (size_t k = 0; k < n; k++) {
        b->impl = refused[k].impl;
        b->failed = false;
        b->skipped = true;
        b->elsewhere = elsewhere;
        snprintf(b->text, sizeof(b->text), "%s", refused[k].text);
        if (suite_run_reported(r, b, true))
            r->report(r->user, b->props.name, b->impl, r->suite, i, b, true);
    }
    b->elsewhere = false;
}

/* Case i on a device, by each of its implementations. On a required device one
 * of them has to take it. */
static size_t run_device(struct conformance_suite_run *r, size_t i,
                         struct harness *b)
{
    const char *op = r->suite->op;
    struct suite_run_use *use = r->use[b - r->harnesses];
    struct suite_run_refusal refused[IMPLS];
    size_t failed = 0, refusals = 0;
    bool taken = false;
    for (size_t k = 0; k < IMPLS; k++) {
        b->impl = ssq_implementation_name(b->device, op, k);
        if (b->impl == NULL ||
            ssq_implementation_pin(b->device, op, b->impl) != SSQ_OK)
            break;
        bool last = ssq_implementation_name(b->device, op, k + 1) == NULL;
        bool required = last && !taken && tap_required(b->props.name);
        bool ok = harness_run(b, r->suite, i, required);
        taken = taken || !b->skipped;
        use[k].taken += !b->skipped;
        if (b->skipped) {
            use_refused(&use[k], b);
            refused[refusals].impl = b->impl;
            snprintf(refused[refusals++].text, sizeof(b->text), "%s", b->text);
        } else if (suite_run_reported(r, b, ok)) {
            r->report(r->user, b->props.name, b->impl, r->suite, i, b, ok);
        }
        failed += !ok;
        if (ssq_implementation_pin(b->device, op, NULL) != SSQ_OK)
            failed++;
    }
    report_refusals(r, i, b, refused, refusals, taken);
    return failed;
}

/* Report the implementations of a device that ran no case of the suite. */
static void report_idle(const struct conformance_suite_run *r,
                        struct harness *b)
{
    const struct suite_run_use *use = r->use[b - r->harnesses];
    b->skipped = b->elsewhere = b->idle = true;
    b->failed = false;
    for (size_t k = 0; k < IMPLS; k++)
        for (size_t i = 0; i < use[k].reasons && use[k].taken == 0; i++) {
            b->impl = use[k].impl;
            snprintf(b->text, sizeof(b->text), "%s", use[k].text[i]);
            r->report(r->user, b->props.name, b->impl, r->suite, r->suite->n, b,
                      true);
        }
    b->elsewhere = b->idle = false;
}

/* Is this a driver's device? Its name has a number. */
static bool is_driver(const struct harness *b)
{
    return strchr(b->props.name, ':') != NULL;
}

/* Is it another driver's turn? */
static bool is_others(const struct conformance_suite_run *r, size_t i, size_t d)
{
    size_t before = 0, drivers = 0;
    for (size_t k = 0; k < r->n; k++) {
        before += k < d && is_driver(&r->harnesses[k]);
        drivers += is_driver(&r->harnesses[k]);
    }
    return r->take_turns && drivers > 1 && !turns_has(&r->turns, i, before);
}

/* Does this run leave case i out on driver d? */
static bool suite_run_left_out(const struct conformance_suite_run *r, size_t i,
                               size_t d)
{
    size_t stride = r->suite->stride;
    return is_driver(&r->harnesses[d]) &&
           (stride == SUITE_NO_DRIVER || (stride > 1 && i % stride != 0) ||
            is_others(r, i, d));
}

/* Devices that keep float32 subnormals, and then, on data without them, those
 * that flush them: each time after the reference. */
static size_t run_flushed(struct conformance_suite_run *r, size_t i,
                          bool flushed)
{
    size_t failed = 0;
    r->flushed = flushed;
    harness_case_begin(r->harnesses[0].state, flushed);
    for (size_t d = 0; d < r->n; d++)
        if ((d == 0 ||
             suite_run_flushes(r->suite, &r->harnesses[d]) == flushed) &&
            !suite_run_left_out(r, i, d))
            failed += run_device(r, i, &r->harnesses[d]);
    return failed;
}

/* SSQ_TEST_STRIDE: every this many cases one is run, on all devices.
 * "37,gemm=499" has another number for the suite gemm. */
static size_t case_stride(const struct suite *suite)
{
    const char *text = getenv("SSQ_TEST_STRIDE");
    const size_t length = strlen(suite->name);
    long n = text != NULL ? strtol(text, NULL, 10) : 1;
    while (text != NULL && (text = strchr(text, ',')) != NULL)
        if (strncmp(++text, suite->name, length) == 0 && text[length] == '=')
            n = strtol(text + length + 1, NULL, 10);
    return n > 1 ? (size_t)n : 1;
}

size_t suite_run(const struct suite *suite, const char *only, bool turns,
                 suite_report_fn report, void *user)
{
    size_t failed = 0, flushing = 0;
    struct held *h = held_open(only);
    const size_t n = h->n;
    struct harness *harnesses = h->harnesses;
    struct conformance_suite_run r = {.suite = suite,
                                      .only = only,
                                      .report = report,
                                      .user = user,
                                      .harnesses = harnesses,
                                      .n = n,
                                      .take_turns = turns};
    if (turns)
        r.turns = turns_of(suite);
    r.use = calloc(DEVICES, sizeof(*r.use));
    if (r.use == NULL)
        tap_bail("no memory for %zu devices", n);
    for (size_t d = 0; d < n; d++)
        flushing += suite_run_flushes(suite, &harnesses[d]);
    for (size_t i = 0; i < suite->n && n > 0; i += case_stride(suite)) {
        failed += run_flushed(&r, i, false);
        if (flushing > 0)
            failed += run_flushed(&r, i, true);
    }
    for (size_t d = 0; d < n; d++)
        if (only == NULL || strcmp(only, harnesses[d].props.name) == 0)
            report_idle(&r, &harnesses[d]);
    free(r.use);
    if (failed > 0) /* a queue may have failed */
        held_close(h);
    return failed;
}

static void report_tap(void *user, const char *device, const char *impl,
                       const struct suite *suite, size_t i,
                       const struct harness *b, bool ok)
{
    (void)user;
    char text[256];
    if (b->idle)
        tap_diag("%s/%s ran no case of %s: %s", device, impl, suite->name,
                 b->text);
    if (b->skipped && b->elsewhere)
        return;
    suite->describe(i, text, sizeof(text));
    if (b->skipped)
        tap_skip(b->text, "%s/%s: %s", device, impl, text);
    else if (!tap_ok(ok, "%s/%s: %s", device, impl, text))
        tap_diag("%s", b->text);
    if (getenv("SSQ_TEST_DIGEST") != NULL)
        tap_diag("digest %016" PRIx64 " %s %zu %s/%s: %s", b->digest,
                 suite->name, i, device, impl, text);
}

int suite_main(const struct suite *suite)
{
    const char *list = getenv("SSQ_TEST_REQUIRE");
    char name[32];
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        snprintf(name, sizeof(name), "%.*s", (int)word, list);
        ssq_device *d = NULL;
        bool device = word > 0 && strcmp(name, "fuzz") != 0 &&
                      strcmp(name, "fakecuda") != 0 &&
                      strcmp(name, "mpi") != 0 && strcmp(name, "python") != 0;
        if (device && !tap_ok(ssq_device_open(name, NULL, &d) == SSQ_OK,
                              "%s: required device opens", name))
            tap_diag("%s", ssq_last_error());
        ssq_device_close(&d);
        list += word + (list[word] == ',');
    }
    suite_run(suite, NULL, !tap_full(), report_tap, NULL);
    suite_end();
    /* a small binding range leaves out what cannot be split */
    bool all = getenv("SSQ_LIMIT_BINDING") == NULL && case_stride(suite) == 1;
    return tap_done(all ? (long)suite->floor : 0);
}
