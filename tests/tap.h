/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h - the Test Anything Protocol for our tests: one plan, printed last.
 *
 *     int main(void)
 *     {
 *         tap_ok(1 + 1 == 2, "1 + 1 is %d", 1 + 1);
 *         tap_skip("no such device", "cuda:0: gemm f16 1x1x1");
 *         return tap_done(1);
 *     }
 *
 * The program exits 0 when the plan was completed; whether cases failed is for
 * the reader of the lines. stdout belongs to TAP: what a test wants to say goes
 * through tap_diag or to stderr. Not thread-safe: only the main thread reports.
 *
 * tap_fork runs a function in a child and says how that ended, so traps and
 * crashes can be expected. The child's stdout goes to stderr. */

#ifndef SSQ_TESTS_TAP_H
#define SSQ_TESTS_TAP_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GNUC__)
#define TAP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TAP_PRINTF(f, a)
#endif

#ifdef SSQ_COVERAGE
void __gcov_dump(void);
#endif

static struct {
    long cases;  /* lines printed */
    long failed; /* of them not ok */
    long skipped;
    double began; /* seconds; 0 before the first line */
} tap;

static inline double tap_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Before the first line: the clock, and lines that leave as they end. */
static inline void tap_begin(void)
{
    if (tap.began > 0)
        return;
    tap.began = tap_seconds();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash loses no line */
}

/* Print text on one line, with '#' and '\' escaped if it is a test's name. */
static inline void tap_text(const char *text, bool escape)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (escape && (*c == '#' || *c == '\\'))
            putchar('\\');
        putchar(*c == '\n' || *c == '\r' ? ' ' : *c);
    }
}

TAP_PRINTF(1, 0) static inline void tap_name(const char *fmt, va_list args)
{
    char text[2048];

    vsnprintf(text, sizeof(text), fmt, args);
    tap_text(text, true);
}

/* Say something that is not a result. */
TAP_PRINTF(1, 2) static inline void tap_diag(const char *fmt, ...)
{
    char text[4096];
    va_list args;

    tap_begin();
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end++ = '\0';
        fputs("# ", stdout);
        tap_text(line, false);
        putchar('\n');
        line = end;
    }
}

TAP_PRINTF(2, 0)
static inline void tap_result(bool ok, const char *fmt, va_list args)
{
    tap_begin();
    tap.cases++;
    tap.failed += !ok;
    printf("%s %ld - ", ok ? "ok" : "not ok", tap.cases);
    tap_name(fmt, args);
}

/* One case; returns ok. */
TAP_PRINTF(2, 3) static inline bool tap_ok(bool ok, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tap_result(ok, fmt, args);
    va_end(args);
    putchar('\n');
    return ok;
}

/* One case that could not be run, and why. */
TAP_PRINTF(2, 3)
static inline void tap_skip(const char *reason, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tap_result(true, fmt, args);
    va_end(args);
    tap.skipped++;
    fputs(" # SKIP ", stdout);
    tap_text(reason, true);
    putchar('\n');
}

/* Give up: nothing after this could be trusted. */
TAP_PRINTF(1, 2) static inline void tap_bail(const char *fmt, ...)
{
    va_list args;

    fputs("Bail out! ", stdout);
    va_start(args, fmt);
    tap_name(fmt, args);
    va_end(args);
    putchar('\n');
    exit(1);
}

/* Whether name is in the comma-separated list SSQ_TEST_REQUIRE: a required
 * device that is missing fails, it is not skipped. */
static inline bool tap_required(const char *name)
{
    const char *list = getenv("SSQ_TEST_REQUIRE");
    size_t n = strlen(name);

    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == n && strncmp(list, name, n) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

/* Whether this is make check-full: sweep all inputs, not a sample. */
static inline bool tap_full(void)
{
    const char *full = getenv("SSQ_TEST_FULL");

    return full != NULL && strcmp(full, "1") == 0;
}

/* The end: print the plan and the time; floor is how many cases have to have
 * run, skipped ones not counted. Return the program's exit status. */
static inline int tap_done(long floor)
{
    struct timespec cpu = {0, 0};
    long ran = tap.cases - tap.skipped;

    tap_begin();
    if (ran < floor)
        tap_ok(false, "at least %ld cases ran, %ld did", floor, ran);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    tap_diag("%.2f seconds, %.2f of processor time: %ld cases, %ld failed, "
             "%ld skipped",
             tap_seconds() - tap.began,
             (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9, tap.cases,
             tap.failed, tap.skipped);
    if (tap.cases == 0)
        puts("1..0 # SKIP nothing to do");
    else
        printf("1..%ld\n", tap.cases);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

/* In the child: no core file, no inherited handlers, an end to waiting. */
static inline void tap_child(int (*fn)(void *arg), void *arg, unsigned seconds)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct rlimit none = {0, 0};
    int status;

    dup2(STDERR_FILENO, STDOUT_FILENO);
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], SIG_DFL); /* also off a sanitizer's handler */
    signal(SIGALRM, SIG_DFL);
    alarm(seconds);
    status = fn(arg);
    fflush(NULL);
#ifdef SSQ_COVERAGE
    __gcov_dump(); /* _exit would lose the child's counts */
#endif
    _exit(status);
}

/* Run fn(arg) in a child for at most this many seconds; return its wait status
 * (WIFSIGNALED, WTERMSIG, ...; SIGALRM: the time was up), or -1. fn's result,
 * 0 to 255, is the child's exit status. */
static inline int tap_fork(int (*fn)(void *arg), void *arg, unsigned seconds)
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        tap_child(fn, arg, seconds);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static inline bool tap_exited(int status, int code)
{
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static inline bool tap_killed(int status, int sig)
{
    return status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

/* How a child ended, in words; valid until the next call. */
static inline const char *tap_status(int status)
{
    static char text[64];

    if (status == -1)
        snprintf(text, sizeof(text), "not started");
    else if (WIFEXITED(status))
        snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
    else
        snprintf(text, sizeof(text), "wait status %d", status);
    return text;
}

#endif
