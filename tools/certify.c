/* SPDX-License-Identifier: Apache-2.0 */
/* certify.c - `sesqui certify`: runs all tables on a device, in a process that
 * its driver may kill or hang, and stores the certification result.
 *
 * The child runs the tables one after the other (certify_child.c). It reports
 * on a pipe the table that it begins, its progress and the result. If the child
 * dies or hangs, that table is at fault, and another child continues after it.
 * If the time of a table is over while its cases still progress, the table is
 * not finished. That is not a fault: the machine may be busy. */
#include "conformance/suite.h"
#include "tools/certify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/** A table takes longer only if a driver hangs, or the machine is busy. */
#define TABLE_SECONDS 600.0

/* The parent's state for a device. */
struct trial {
    const struct options *o;
    const char *device;
    double seconds; /* limit for a table */
    size_t next;    /* the table that a child begins with, or runs */
    bool opened;    /* a child has opened the device */
    bool begun;     /* a table is running */
    bool done;      /* a child reached the end of the tables */
    unsigned long cases, failed;     /* of the tables that were finished */
    unsigned tables;                 /* number of selected tables */
    unsigned ended;                  /* number of tables that had their turn */
    unsigned at_fault, unfinished;   /* among the ended tables */
    unsigned long at, of, at_failed; /* cases of the running table */
    double moved;                    /* when a child last reported `at` */
    char *text;     /* of the certification result, one line for each table */
    size_t room;    /* bytes of text */
    char line[128]; /* of a child, not complete yet */
    size_t length;
    struct tool_progress progress;
};

/* End the turn of a table: print its result and, if kept, append it to
 * the certification result. */
static void certify_tell(struct trial *t, bool kept, const char *what)
{
    const char *name = suites[t->next]->name;
    size_t at = strlen(t->text);
    if (kept)
        snprintf(t->text + at, t->room - at, "%s %s\n", name, what);
    progress_clear(&t->progress);
    printf("%-24s %s (%u of %u)\n", name, what, ++t->ended, t->tables);
    fflush(stdout);
    t->begun = false;
    t->next++;
}

/* Record a table that ran to its end. */
static void take_counts(struct trial *t, const struct certify_counts *c)
{
    char what[128];
    snprintf(what, sizeof(what), "%lu cases, %lu failed, %lu skipped", c->cases,
             c->failed, c->skipped);
    certify_tell(t, true, what);
    t->at_fault += c->failed > 0;
    t->cases += c->cases;
    t->failed += c->failed;
}

static void show_progress(struct trial *t)
{
    char what[96];
    snprintf(what, sizeof(what), "%s, case %lu of %lu", suites[t->next]->name,
             t->at, t->of);
    progress_at(&t->progress, t->ended,
                t->of == 0 ? 0.0 : (double)t->at / (double)t->of, what);
}

/* Handle a line of a child. A line with another form may come from a driver,
 * which writes to the same standard output. It is ignored. */
static void take_line(struct trial *t)
{
    struct certify_counts c;
    size_t table;
    if (strcmp(t->line, "open") == 0) {
        t->opened = true;
    } else if (strcmp(t->line, "done") == 0) {
        t->done = true;
    } else if (sscanf(t->line, "begin %zu", &table) == 1) {
        t->next = table;
        t->begun = true;
        t->at = t->of = t->at_failed = 0;
        show_progress(t);
    } else if (sscanf(t->line, "at %lu %lu %lu", &t->at, &t->of,
                      &t->at_failed) == 3) {
        t->moved = now();
        show_progress(t);
    } else if (sscanf(t->line, "end %lu %lu %lu", &c.cases, &c.failed,
                      &c.skipped) == 3) {
        take_counts(t, &c);
    }
}

/* Read from a child and handle complete lines. Returns false at the end of its
 * output. If a line is too long its rest is dropped. */
static bool certify_take(struct trial *t, int fd)
{
    char block[256];
    ssize_t n = read(fd, block, sizeof(block));
    for (ssize_t i = 0; i < n; i++)
        if (block[i] == '\n') {
            t->line[t->length] = '\0';
            t->length = 0;
            take_line(t);
        } else if (t->length + 1 < sizeof(t->line)) {
            t->line[t->length++] = block[i];
        }
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Start a child; *fd reads its standard output. */
static bool certify_start(const struct trial *t, pid_t *pid, int *fd)
{
    char first[32];
    snprintf(first, sizeof(first), "%zu", t->next + 1);
    const char *argv[] = {
        "sesqui",  "certify", "--child", "--device",
        t->device, "--first", first,     t->o->op == NULL ? NULL : "--op",
        t->o->op,  NULL};
    return process_start(argv, false, pid, fd);
}

/* Follow a child until it ends. Returns false if it was killed because its time
 * was over. The time starts again with each table. */
static bool certify_follow(struct trial *t, pid_t pid, int fd, int *status)
{
    bool in_time = true;
    double end = now() + t->seconds;
    for (;;) {
        size_t before = t->next;
        double left = end - now();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n = left <= 0.0 ? 0 : poll(&p, 1, (int)(1e3 * left) + 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) {
            in_time = false;
            kill(pid, SIGKILL);
            break;
        }
        if (n < 0 || !certify_take(t, fd))
            break;
        if (t->next != before)
            end = now() + t->seconds;
    }
    close(fd);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    return in_time;
}

/* Record a table whose time is over, but whose cases still progressed. */
static void leave_unfinished(struct trial *t)
{
    char what[128];
    snprintf(what, sizeof(what),
             "%lu of %lu cases in %g s, %lu failed: not finished", t->at, t->of,
             t->seconds, t->at_failed);
    if (t->at_failed > 0)
        t->at_fault++;
    else
        t->unfinished++;
    certify_tell(t, t->at_failed > 0, what);
}

/* Record how a child ended before the last table was done. The running table is
 * at fault, and the next child begins after it. */
static void blame(struct trial *t, bool in_time, int status)
{
    char what[128];
    if (!in_time && t->begun && now() - t->moved < 0.5 * t->seconds) {
        leave_unfinished(t);
        return;
    }
    t->at_fault++;
    process_end(what, sizeof(what), in_time, t->seconds, status);
    if (t->begun)
        certify_tell(t, true, what);
    else
        fprintf(stderr, "sesqui: certify: %s: between tables: %s\n", t->device,
                what);
}

/* Run children until all tables had their turn. Returns false if a child
 * cannot be started, or reaches no table: the next child would not reach
 * one, either. */
static bool certify_run_tables(struct trial *t)
{
    while (!t->done) {
        pid_t pid;
        int fd, status = 0;
        bool begun_any = false;
        size_t before = t->next;
        t->length = 0;
        t->moved = 0.0;
        if (!certify_start(t, &pid, &fd)) {
            fprintf(stderr, "sesqui: certify: posix_spawn: %s\n",
                    strerror(errno));
            return false;
        }
        bool in_time = certify_follow(t, pid, fd, &status);
        progress_clear(&t->progress);
        begun_any = t->begun || t->next != before;
        if (!t->done)
            blame(t, in_time, status);
        if (!t->opened || (!t->done && !begun_any))
            return false;
    }
    return true;
}

/* Append the lines of old about tables that text does not contain: with --op
 * the rest of the certification result is kept. Sets *bad if one of them
 * failed. */
static void keep_others(char *text, size_t room, const char *old, bool *bad)
{
    while (*old != '\0') {
        size_t n = strcspn(old, "\n"), name = strcspn(old, " \n");
        bool known = false;
        for (const char *s = text; *s != '\0'; s += strcspn(s, "\n") + 1)
            known = known || (strncmp(s, old, name) == 0 && s[name] == ' ');
        size_t at = strlen(text);
        if (!known && at + n + 2 < room) {
            snprintf(text + at, room - at, "%.*s\n", (int)n, old);
            *bad = *bad || strstr(text + at, " 0 failed") == NULL;
        }
        old += n + (old[n] == '\n');
    }
}

/* Store the certification result with the device's certificate. This process
 * opens the device, but runs no op. */
static int certify_keep(const struct trial *t, bool passed, ssq_verdict *v)
{
    ssq_device *d = NULL;
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_verdict old = SSQ_VERDICT_INIT;
    options.uncertified = true;
    bool bad = !passed;
    ssq_status st = ssq_device_open(t->device, &options, &d);
    if (st == SSQ_OK)
        st = ssq_device_verdict_get(d, &old);
    if (st == SSQ_OK) {
        if (t->o->op != NULL)
            keep_others(v->text, sizeof(v->text), old.text, &bad);
        v->passed = !bad;
        st = ssq_device_verdict_keep(d, v);
    }
    ssq_device_close(&d);
    return st == SSQ_OK ? EXIT_FINE : complain("certify: the verdict");
}

/* Print which tables will run: those selected by --op, or all. */
static void announce(struct trial *t)
{
    for (size_t i = 0; suites[i] != NULL; i++)
        t->tables += suite_named(suites[i], t->o->op);
    printf("# %s: ", t->device);
    if (t->o->op == NULL)
        printf("all %u tables", t->tables);
    else
        printf("%u table%s of %s:", t->tables, t->tables == 1 ? "" : "s",
               t->o->op);
    for (size_t i = 0; suites[i] != NULL && t->o->op != NULL; i++)
        if (suite_named(suites[i], t->o->op))
            printf(" %s", suites[i]->name);
    printf("%s each in at most %g s\n", t->o->op == NULL ? "," : ";",
           t->seconds);
    fflush(stdout);
}

/* Print the last line of a device. Returns true if it is certified. */
static bool conclude(const struct trial *t, bool ran)
{
    bool passed = ran && t->at_fault == 0 && t->unfinished == 0 && t->cases > 0;
    printf("# %s: %lu cases, %lu failed", t->device, t->cases, t->failed);
    if (t->at_fault > 0)
        printf(", %u of %u tables at fault", t->at_fault, t->tables);
    if (t->unfinished > 0)
        printf(", %u of %u tables not finished", t->unfinished, t->tables);
    if (t->cases == 0 && t->at_fault == 0 && t->unfinished == 0)
        printf(", nothing was run");
    printf(": %s\n", passed ? "certified" : "not certified");
    return passed;
}

/* Certify a device. @return an exit_code
 *
 * No certification result is stored if no table has a line, or if tables were
 * not finished and no fault was found. */
static int certify_device(const struct options *o, const char *device)
{
    ssq_verdict v = SSQ_VERDICT_INIT;
    struct trial t = {.o = o,
                      .device = device,
                      .seconds = o->seconds > 0.0 ? o->seconds : TABLE_SECONDS,
                      .text = v.text,
                      .room = sizeof(v.text)};
    announce(&t);
    progress_begin(&t.progress, "certify", t.tables, false);
    bool ran = certify_run_tables(&t);
    if (!ran)
        fprintf(stderr, "sesqui: certify: %s: %s\n", device,
                t.opened ? "the tables could not be run"
                         : "a process that opens it does not come so far");
    bool passed = conclude(&t, ran);
    if (t.unfinished > 0 && t.at_fault == 0)
        fprintf(stderr,
                "sesqui: certify: %s: no fault was found, and the verdict that "
                "is kept stays as it was; if the machine is busy, repeat it "
                "later, or with more --seconds\n",
                device);
    if (v.text[0] == '\0' || (t.unfinished > 0 && t.at_fault == 0))
        return EXIT_FAILED;
    int code = certify_keep(&t, passed, &v);
    return passed ? code : EXIT_FAILED;
}

/* Return true if a result is stored. Also true if the device does not open:
 * --once does not try such a driver. */
static bool has_certification(const char *device)
{
    ssq_device *d = NULL;
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_verdict v = SSQ_VERDICT_INIT;
    options.uncertified = true;
    bool has = ssq_device_open(device, &options, &d) != SSQ_OK ||
               ssq_device_verdict_get(d, &v) != SSQ_OK || v.text[0] != '\0';
    ssq_device_close(&d);
    return has;
}

/* Return true if o selects this device. Without a name: all except reference
 * and guard. With --once: all whose driver could end a process, which
 * excludes cpu. */
static bool certify_wanted(const struct options *o, const ssq_device_entry *e)
{
    if (!e->available)
        return false;
    if (o->device != NULL)
        return strcmp(e->name, o->device) == 0 ||
               (strcmp(e->backend, o->device) == 0 &&
                strstr(e->name, ":0") != NULL);
    if (o->once)
        return drivers_needed(e->backend);
    return strcmp(e->backend, "reference") != 0 &&
           strcmp(e->backend, "guard") != 0;
}

int command_certify(const struct options *o)
{
    int code = EXIT_FINE;
    if (setenv("SSQ_UNCERTIFIED", "1", 1) != 0) /* open any device */
        return EXIT_FAILED;
    if (o->child)
        return certify_child(o);
    if (o->op != NULL && !names_check_table("certify", o->op))
        return EXIT_USAGE;
    if (!drivers_try(o->device, NULL))
        code = EXIT_FAILED;
    size_t n = ssq_device_count(), seen = 0;
    for (size_t i = 0; i < n; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || !certify_wanted(o, &e))
            continue;
        seen++;
        if (o->once && has_certification(e.name))
            continue;
        int one = certify_device(o, e.name);
        code = one == EXIT_FINE ? code : one;
    }
    if (seen == 0 && o->device != NULL && code == EXIT_FINE) {
        fprintf(stderr, "sesqui: certify: no device \"%s\"\n", o->device);
        return EXIT_USAGE;
    }
    return code;
}
