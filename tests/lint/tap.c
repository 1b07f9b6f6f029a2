/* SPDX-License-Identifier: Apache-2.0 */
/* tap.c - tests of tests/tap.h: escapes, children and how they end. */

#include "tests/tap.h"

#include <sys/mman.h>

static int return_arg(void *arg)
{
    return *(const int *)arg;
}

static int raise_arg(void *arg)
{
    raise(*(const int *)arg);
    return 0;
}

static int wait_for_ever(void *arg)
{
    (void)arg;
    while (pause() != 0)
        continue;
    return 0;
}

static int write_there(void *arg)
{
    *(volatile int *)arg = 1;
    return 0;
}

/* The stdout of fn; the caller frees it. */
static char *capture(int (*fn)(void *))
{
    char *text = NULL;
    FILE *file = tmpfile();
    int saved = dup(STDOUT_FILENO);
    long n;

    if (file == NULL || saved < 0)
        tap_bail("no temporary file");
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    fn(NULL);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    text = calloc(1, (size_t)n + 1);
    if (text == NULL || fread(text, 1, (size_t)n, file) != (size_t)n)
        tap_bail("cannot read back %ld bytes", n);
    fclose(file);
    return text;
}

static int say_hash(void *arg)
{
    (void)arg;
    tap_text("queue #1 \\ two\nlines", true);
    return 0;
}

/* Its own suite inside this one: one ok, one skip, one not ok, and a
 * floor that is not met. */
static int run_short(void *arg)
{
    (void)arg;
    memset(&tap, 0, sizeof(tap));
    tap_ok(true, "a");
    tap_skip("no # device", "b");
    tap_ok(false, "c");
    return tap_done(3);
}

static void test_lines(void)
{
    char *text = capture(say_hash);

    tap_ok(strcmp(text, "queue \\#1 \\\\ two lines") == 0,
           "a name's # and \\ are escaped and its newline is a blank");
    free(text);
}

static void test_suite(void)
{
    const char *head = "ok 1 - a\nok 2 - b # SKIP no \\# device\n"
                       "not ok 3 - c\n"
                       "not ok 4 - at least 3 cases ran, 2 did\n# ";
    const char *tail = "4 cases, 2 failed, 1 skipped\n1..4\n";
    char saved[sizeof(tap)];
    char *text;
    size_t n;

    memcpy(saved, &tap, sizeof(tap));
    text = capture(run_short);
    memcpy(&tap, saved, sizeof(tap));
    n = strlen(text);
    tap_ok(strncmp(text, head, strlen(head)) == 0,
           "3 cases under a floor of 3, one skipped, print a 4th, not ok");
    tap_ok(n > strlen(tail) && strcmp(text + n - strlen(tail), tail) == 0,
           "the plan 1..4 is the last line");
    free(text);
}

static void test_children(void)
{
    int zero = 0, seven = 7, abort_signal = SIGABRT, status;
    void *closed =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    status = tap_fork(return_arg, &zero, 10);
    tap_ok(tap_exited(status, 0), "a child that returns 0: %s",
           tap_status(status));
    status = tap_fork(return_arg, &seven, 10);
    tap_ok(tap_exited(status, 7) && !tap_exited(status, 0),
           "a child that returns 7: %s", tap_status(status));
    status = tap_fork(raise_arg, &abort_signal, 10);
    tap_ok(tap_killed(status, SIGABRT), "a child that aborts: %s",
           tap_status(status));
    status = tap_fork(write_there, closed, 10);
    tap_ok(closed != MAP_FAILED && tap_killed(status, SIGSEGV),
           "a child that writes to a closed page: %s", tap_status(status));
    status = tap_fork(wait_for_ever, NULL, 1);
    tap_ok(tap_killed(status, SIGALRM), "a child that hangs for 1 second: %s",
           tap_status(status));
}

static void test_required(void)
{
    setenv("SSQ_TEST_REQUIRE", "reference,cuda:0", 1);
    tap_ok(tap_required("reference") && tap_required("cuda:0"),
           "both names of \"reference,cuda:0\" are required");
    tap_ok(!tap_required("ref") && !tap_required("cuda") && !tap_required(""),
           "prefixes of names in \"reference,cuda:0\" are not required");
    unsetenv("SSQ_TEST_REQUIRE");
    tap_ok(!tap_required("reference"),
           "without SSQ_TEST_REQUIRE nothing is required");
}

int main(void)
{
    test_lines();
    test_suite();
    test_children();
    test_required();
    return tap_done(11);
}
