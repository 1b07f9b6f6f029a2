/* SPDX-License-Identifier: Apache-2.0 */
/* certify.c - `sesqui certify`: all tables on a device, in a process that its
 * driver may kill or hang, and the verdict kept.
 *
 * The child runs the tables one after the other and says on a pipe which one it
 * begins and what came of it. Where it dies or takes too long, that table is at
 * fault, and another child goes on behind it. A child is this program again,
 * started anew and not forked: what drivers have loaded or broken in the parent
 * is not in it. */
#include "tests/op/suite.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/** A table takes longer only where a driver hangs. */
#define TABLE_SECONDS 600.0

extern char **environ;

/* ---- the child ---- */

/* Of one table. */
struct counts {
    unsigned long cases, failed, skipped;
};

/* Count a case, as suite_report_fn; what fails is told at once, on standard
 * error, which is nobody's protocol. */
static void count(void *user, const char *device, const char *impl,
                  const struct suite *suite, size_t i, const struct bed *b,
                  bool ok)
{
    struct counts *c = user;
    char text[256];
    if (b->skipped && b->elsewhere)
        return;
    c->cases++;
    c->failed += !ok;
    c->skipped += b->skipped;
    if (ok)
        return;
    suite->describe(i, text, sizeof(text));
    fprintf(stderr, "sesqui: certify: %s/%s: %s: %s\n", device, impl, text,
            b->text);
}

static bool selected(const struct suite *s, const char *op)
{
    return op == NULL || strcmp(op, s->op) == 0 || strcmp(op, s->name) == 0;
}

/* Tables from the given one on. What it says, a line each: "open" once the
 * device was opened, "begin N" and "end CASES FAILED SKIPPED" of every table,
 * and "done". Lines are flushed at once: the next thing may be the last. */
static int child(const struct options *o)
{
    ssq_device *d = NULL;
    if (ssq_device_open(o->device, NULL, &d) != SSQ_OK)
        return complain("certify");
    ssq_device_close(&d);
    printf("open\n");
    for (size_t i = o->cases - 1; suites[i] != NULL; i++) {
        if (!selected(suites[i], o->op))
            continue;
        struct counts c = {0};
        printf("begin %zu\n", i);
        fflush(stdout);
        suite_run(suites[i], o->device, false, count, &c);
        printf("end %lu %lu %lu\n", c.cases, c.failed, c.skipped);
        fflush(stdout);
    }
    printf("done\n");
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}

/* ---- the parent ---- */

/* A device under trial, as the parent sees it. */
struct trial {
    const struct options *o;
    const char *device;
    double seconds; /* that a table may take */
    size_t next;    /* table that a child begins with, or is in */
    bool opened;    /* the device, by a child */
    bool begun;     /* a table is under way */
    bool done;      /* a child came to the end of the tables */
    bool passed;    /* nothing has failed so far */
    unsigned long cases, failed;
    char *text;     /* of the verdict, a line for each table */
    size_t room;    /* bytes of text */
    char line[128]; /* that a child has not ended yet */
    size_t length;
};

/* Append a table's line to the verdict, and say it. */
static void tell(struct trial *t, size_t table, const char *what)
{
    size_t at = strlen(t->text);
    snprintf(t->text + at, t->room - at, "%s %s\n", suites[table]->name, what);
    printf("%-24s %s\n", suites[table]->name, what);
    fflush(stdout);
}

/* A line of a child. What is none of the four is some driver's, which writes
 * to the same standard output, and is passed over. */
static void take_line(struct trial *t)
{
    struct counts c;
    char what[128];
    if (strcmp(t->line, "open") == 0)
        t->opened = true;
    else if (strcmp(t->line, "done") == 0)
        t->done = true;
    else if (sscanf(t->line, "begin %zu", &t->next) == 1)
        t->begun = true;
    else if (sscanf(t->line, "end %lu %lu %lu", &c.cases, &c.failed,
                    &c.skipped) == 3) {
        snprintf(what, sizeof(what), "%lu cases, %lu failed, %lu skipped",
                 c.cases, c.failed, c.skipped);
        tell(t, t->next, what);
        t->passed = t->passed && c.failed == 0;
        t->cases += c.cases;
        t->failed += c.failed;
        t->begun = false;
        t->next++;
    }
}

/* What a child wrote, up to the ends of lines; false at its end. A line that is
 * longer than any of ours loses its rest. */
static bool take(struct trial *t, int fd)
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

/* Start a child whose standard output is *fd. */
static bool start(const struct trial *t, pid_t *pid, int *fd)
{
    char first[32];
    int pipes[2];
    snprintf(first, sizeof(first), "%zu", t->next + 1);
    const char *argv[] = {
        "sesqui",  "certify", "--child", "--device",
        t->device, "--cases", first,     t->o->op == NULL ? NULL : "--op",
        t->o->op,  NULL};
    if (pipe(pipes) != 0)
        return false;
    /* the child keeps its end as standard output, and not ours: the pipe ends
     * when the child does */
    posix_spawn_file_actions_t actions;
    int e = posix_spawn_file_actions_init(&actions);
    if (e == 0) {
        e = posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
        if (e == 0)
            e = posix_spawn_file_actions_addclose(&actions, pipes[0]);
        if (e == 0)
            e = posix_spawn(pid, "/proc/self/exe", &actions, NULL,
                            (char *const *)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pipes[1]);
    if (e != 0) {
        close(pipes[0]);
        errno = e;
        return false;
    }
    *fd = pipes[0];
    return true;
}

/* Follow a child to its end; false: it was killed for its time, which begins
 * anew with each table. */
static bool follow(struct trial *t, pid_t pid, int fd, int *status)
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
        if (n < 0 || !take(t, fd))
            break;
        if (t->next != before)
            end = now() + t->seconds;
    }
    close(fd);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    return in_time;
}

/* How a child ended that had not done all: the fault of the table under way,
 * behind which the next child begins. */
static void blame(struct trial *t, bool in_time, int status)
{
    char what[128];
    t->passed = false;
    if (!in_time)
        snprintf(what, sizeof(what), "took more than %g s", t->seconds);
    else if (WIFSIGNALED(status))
        snprintf(what, sizeof(what), "killed by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(what, sizeof(what), "the process ended with %d",
                 WEXITSTATUS(status));
    if (t->begun)
        tell(t, t->next++, what);
    else
        fprintf(stderr, "sesqui: certify: %s: between tables: %s\n", t->device,
                what);
    t->begun = false;
}

/* Children, until all tables had their turn. False if one cannot be started, or
 * comes to no table: the next one would come no further, for ever. */
static bool run_tables(struct trial *t)
{
    while (!t->done) {
        pid_t pid;
        int fd, status = 0;
        bool begun_any = false;
        size_t before = t->next;
        t->length = 0;
        if (!start(t, &pid, &fd)) {
            fprintf(stderr, "sesqui: certify: posix_spawn: %s\n",
                    strerror(errno));
            return false;
        }
        bool in_time = follow(t, pid, fd, &status);
        begun_any = t->begun || t->next != before;
        if (!t->done)
            blame(t, in_time, status);
        if (!t->opened || (!t->done && !begun_any))
            return false;
    }
    return true;
}

/* Append lines of old about tables that text does not speak of: with --op the
 * rest of the verdict stands as it was. *bad is set if one of them failed. */
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

/* Keep the verdict with the device's certificate. The device is opened in this
 * process, where no op is run. */
static int keep(struct trial *t, ssq_verdict *v)
{
    ssq_device *d = NULL;
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_verdict old = SSQ_VERDICT_INIT;
    options.uncertified = true;
    bool bad = !t->passed;
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

/* One device from start to verdict; an exit_code. Without a single table's line
 * there is no verdict to keep. */
static int certify_device(const struct options *o, const char *device)
{
    ssq_verdict v = SSQ_VERDICT_INIT;
    struct trial t = {.o = o,
                      .device = device,
                      .seconds = o->seconds > 0.0 ? o->seconds : TABLE_SECONDS,
                      .passed = true,
                      .text = v.text,
                      .room = sizeof(v.text)};
    printf("# %s: all tables, each in at most %g s\n", device, t.seconds);
    fflush(stdout);
    bool ran = run_tables(&t);
    if (!ran)
        fprintf(stderr, "sesqui: certify: %s: %s\n", device,
                t.opened ? "the tables could not be run"
                         : "a process that opens it does not come so far");
    if (v.text[0] == '\0') {
        if (ran)
            fprintf(stderr, "sesqui: certify: no table or op \"%s\"\n", o->op);
        return ran ? EXIT_USAGE : EXIT_FAILED;
    }
    t.passed = t.passed && ran && t.cases > 0;
    printf("# %s: %lu cases, %lu failed: %s\n", device, t.cases, t.failed,
           t.passed ? "certified" : "not certified");
    int code = keep(&t, &v);
    return t.passed ? code : EXIT_FAILED;
}

/* Is a verdict kept already? Also true if the device does not open: a driver
 * that is not even tried is not tried in the demo. */
static bool has_verdict(const char *device)
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

/* Does o mean this device? Without a name all that have a driver. */
static bool wanted(const struct options *o, const ssq_device_entry *e)
{
    if (!e->available)
        return false;
    if (o->device != NULL)
        return strcmp(e->name, o->device) == 0 ||
               (strcmp(e->backend, o->device) == 0 &&
                strstr(e->name, ":0") != NULL);
    return strcmp(e->backend, "reference") != 0 &&
           strcmp(e->backend, "guard") != 0;
}

int command_certify(const struct options *o)
{
    size_t n = ssq_device_count(), seen = 0;
    int code = EXIT_FINE;
    if (setenv("SSQ_UNCERTIFIED", "1", 1) != 0) /* that is what this is for */
        return EXIT_FAILED;
    if (o->child)
        return child(o);
    for (size_t i = 0; i < n; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || !wanted(o, &e))
            continue;
        seen++;
        if (o->once && has_verdict(e.name))
            continue;
        int one = certify_device(o, e.name);
        code = one == EXIT_FINE ? code : one;
    }
    if (seen == 0 && o->device != NULL) {
        fprintf(stderr, "sesqui: certify: no device \"%s\"\n", o->device);
        return EXIT_USAGE;
    }
    return code;
}
