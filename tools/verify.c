/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - `sesqui verify`: every implementation of every op against the
 * reference, in TAP. */
#include "tests/op/suite.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

/* The report as it is written, and what it has come to so far. */
struct tally {
    FILE *out;
    unsigned long cases, failed, skipped;
};

/* TAP: a # in a name would begin a directive. */
static void print_escaped(FILE *f, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '#' || *s == '\\')
            fputc('\\', f);
        fputc(*s == '\n' ? ' ' : *s, f);
    }
}

/* A case as a line of TAP, as suite_report_fn. */
static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct bed *b,
                   bool ok)
{
    struct tally *t = user;
    char text[256];
    if (b->idle)
        fprintf(t->out, "# %s/%s ran no case of %s: %s\n", device, impl,
                suite->name, b->text);
    if (b->skipped && b->elsewhere)
        return;
    suite->describe(i, text, sizeof(text));
    fprintf(t->out, "%sok %lu - %s/%s: ", ok ? "" : "not ", ++t->cases, device,
            impl);
    print_escaped(t->out, text);
    if (b->skipped) {
        fprintf(t->out, " # SKIP ");
        print_escaped(t->out, b->text);
    }
    fprintf(t->out, "\n");
    if (!ok)
        fprintf(t->out, "# %s\n", b->text);
    t->failed += !ok;
    t->skipped += b->skipped;
}

/* What the bits were certified for: doc/design/numbers.md, class B. */
static void print_device(FILE *out, const char *name)
{
    ssq_device *d = NULL;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    if (ssq_device_open(name, NULL, &d) == SSQ_OK &&
        ssq_device_props_get(d, &p) == SSQ_OK)
        fprintf(out, "# %s: %s; class B bit-equal %s\n", p.name, p.description,
                p.f32_subnormals == SSQ_SUBNORMALS_PRESERVED
                    ? "for all data"
                    : "but for float32 subnormals, which this device flushes");
    ssq_device_close(&d);
}

/* The devices that will be asked, as comments before the first case. */
static void print_devices(FILE *out, const char *only)
{
    size_t n = ssq_device_count();
    fprintf(out, "# sesqui %s verify\n", ssq_version());
    for (size_t i = 0; i < n; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) == SSQ_OK && e.available &&
            (only == NULL || strcmp(only, e.name) == 0))
            print_device(out, e.name);
    }
}

static bool selected(const struct suite *s, const char *op)
{
    return op == NULL || strcmp(op, s->op) == 0 || strcmp(op, s->name) == 0;
}

int command_verify(const struct options *o)
{
    char name[32] = "";
    /* "auto" and "vulkan" are names too: the suites know "vulkan:0" alone */
    if (o->device != NULL) {
        ssq_device *d = NULL;
        ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
        ssq_status st = ssq_device_open(o->device, NULL, &d);
        if (st == SSQ_OK)
            st = ssq_device_props_get(d, &p);
        ssq_device_close(&d);
        if (st != SSQ_OK) {
            complain("verify");
            return st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
        }
        snprintf(name, sizeof(name), "%s", p.name);
    }
    struct tally t = {.out = stdout};
    if (o->report != NULL && (t.out = fopen(o->report, "w")) == NULL) {
        perror(o->report);
        return EXIT_FAILED;
    }
    const char *only = o->device == NULL ? NULL : name;
    fprintf(t.out, "TAP version 13\n");
    print_devices(t.out, only);
    size_t tables = 0;
    for (size_t i = 0; suites[i] != NULL; i++) {
        if (!selected(suites[i], o->op))
            continue;
        tables++;
        suite_run(suites[i], only, false, report, &t);
        if (o->report != NULL)
            printf("%-24s %lu cases so far, %lu failed\n", suites[i]->name,
                   t.cases, t.failed);
    }
    fprintf(t.out, "1..%lu\n# %lu passed, %lu failed, %lu skipped\n", t.cases,
            t.cases - t.failed - t.skipped, t.failed, t.skipped);
    bool written = fflush(t.out) == 0 && ferror(t.out) == 0;
    if (o->report != NULL && fclose(t.out) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "sesqui: verify: the report could not be written\n");
    if (tables == 0) {
        fprintf(stderr, "sesqui: verify: no table or op \"%s\"\n", o->op);
        return EXIT_USAGE;
    }
    /* a run of no case has shown nothing */
    return t.failed == 0 && t.cases > 0 && written ? EXIT_FINE : EXIT_FAILED;
}
