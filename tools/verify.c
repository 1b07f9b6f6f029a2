/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - `sesqui verify`: compares every implementation of every op with
 * the reference, and prints TAP. */
#include "conformance/suite.h"
#include "tools/tool.h"

#include <string.h>
#include <unistd.h>

/* The report and its counts so far. */
struct tally {
    FILE *out;
    unsigned long cases, failed, skipped;
    size_t tables, done; /* selected tables; tables that are done */
    struct tool_progress progress;
};

/* Escape a text for TAP: a # in a name would begin a directive. */
static void print_escaped(FILE *f, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '#' || *s == '\\')
            fputc('\\', f);
        fputc(*s == '\n' ? ' ' : *s, f);
    }
}

/* Print a case as a line of TAP, as suite_report_fn. */
static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct harness *b,
                   bool ok)
{
    struct tally *t = user;
    char text[256];
    snprintf(text, sizeof(text), "%s, case %zu of %zu", suite->name, i + 1,
             suite->n);
    progress_at(&t->progress, t->done, (double)i / (double)suite->n, text);
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

/* Print for which data the bits are certified: doc/design/numbers.md,
 * class B. */
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

/* Print the devices that will be tested, as comments before the first case. */
static void verify_print_devices(FILE *out, const char *only)
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

int device_name(const char *command, const char *wanted, char *name,
                size_t bytes)
{
    ssq_device *d = NULL;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    ssq_status st = ssq_device_open(wanted, NULL, &d);
    if (st == SSQ_OK)
        st = ssq_device_props_get(d, &p);
    ssq_device_close(&d);
    snprintf(name, bytes, "%s", p.name);
    if (st == SSQ_OK)
        return EXIT_FINE;
    complain(command);
    return st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
}

/* Run every selected table. The names of the tables are comments of
 * the report. */
static void verify_run_tables(const struct options *o, const char *only,
                              struct tally *t)
{
    for (size_t i = 0; suites[i] != NULL; i++)
        t->tables += suite_named(suites[i], o->op);
    progress_begin(&t->progress, "verify", t->tables,
                   t->out == stdout && isatty(STDOUT_FILENO));
    for (size_t i = 0; suites[i] != NULL; i++) {
        if (!suite_named(suites[i], o->op))
            continue;
        fprintf(t->out, "# table %zu of %zu: %s\n", t->done + 1, t->tables,
                suites[i]->name);
        suite_run(suites[i], only, false, report, t);
        t->done++;
        if (o->report == NULL)
            continue;
        progress_clear(&t->progress);
        printf("%-24s %lu cases so far, %lu failed (%zu of %zu)\n",
               suites[i]->name, t->cases, t->failed, t->done, t->tables);
        fflush(stdout);
    }
    suite_end();
    progress_clear(&t->progress);
}

int command_verify(const struct options *o)
{
    char name[32] = "";
    if (o->op != NULL && !names_check_table("verify", o->op))
        return EXIT_USAGE;
    const bool drivers = drivers_try(o->device, NULL);
    int code = o->device == NULL
                   ? EXIT_FINE
                   : device_name("verify", o->device, name, sizeof(name));
    if (code != EXIT_FINE)
        return drivers ? code : EXIT_FAILED;
    struct tally t = {.out = stdout};
    if (o->report != NULL && (t.out = fopen(o->report, "w")) == NULL) {
        perror(o->report);
        return EXIT_FAILED;
    }
    const char *only = o->device == NULL ? NULL : name;
    fprintf(t.out, "TAP version 13\n");
    verify_print_devices(t.out, only);
    verify_run_tables(o, only, &t);
    fprintf(t.out, "1..%lu\n# %lu passed, %lu failed, %lu skipped\n", t.cases,
            t.cases - t.failed - t.skipped, t.failed, t.skipped);
    bool written = fflush(t.out) == 0 && ferror(t.out) == 0;
    if (o->report != NULL && fclose(t.out) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "sesqui: verify: the report could not be written\n");
    /* fail if no case ran, or if a driver ended its process */
    return t.failed == 0 && t.cases > 0 && written && drivers ? EXIT_FINE
                                                              : EXIT_FAILED;
}
