/* SPDX-License-Identifier: Apache-2.0 */
/* sesqui.c - the `sesqui` program: selects the subcommand and reads
 * its options. */
#include "tools/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tool_command commands[] = {
    {"devices", command_devices, " --why --json --child ", "[--why] [--json]",
     "list the devices; --why: also why each is or is not there", false, false,
     false},
    {"verify", command_verify, " --device --op --report ",
     "[--device D] [--op O] [--report FILE]",
     "certify devices against the reference, in TAP", false, false, false},
    {"certify", command_certify,
     " --device --op --seconds --once --child --first ",
     "[DEVICE] [--op O] [--seconds S] [--once]",
     "verify in a process of its own, and keep the verdict", false, false,
     true},
    {"support", command_support, " --device --op --json ",
     "[--device D] [--op O] [--json]",
     "op x dtype x implementation, from the admission tests", false, false,
     false},
    {"report", command_report, " --device --seconds ",
     "[--device D] [--seconds S] > FILE",
     "a text for a bug report: versions, devices, choices, a sample of verify",
     false, false, false},
    {"bench", command_bench,
     " --device --vs --op --json --csv --cases --seconds --threads --plot "
     "--list ",
     "[SUITE|-] [--device D] [--vs D] [--op O] [--threads N]\n"
     "           [--cases N] [--seconds S] [--json|--csv] [--plot FILE] "
     "[--list]",
     "time a suite (gemm, memory, optimizer, ops, train, latency), the\n"
     "           cases of standard input, or the tables' largest",
     true, true, false},
    {"tune", command_tune,
     " --device --types --trans --tf32 --clear --json --train --threads "
     "--seconds ",
     "[M,N,K[,BATCH]].. [--device D] [--types T[,T]] [--threads N]\n"
     "           [--trans nn|nt|tn|tt] [--tf32] [--json] | --clear\n"
     "           --train [--types T] [--seconds S] [--json] | --train --clear",
     "find the fastest implementation of products, and keep it;\n"
     "           --train: how fast the device trains, for ranks' shares",
     true, false, false},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Return true if output may have colours, by the usual rules:
 * https://no-color.org, and the type of the terminal. */
static bool coloured(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0') &&
           term != NULL && strcmp(term, "dumb") != 0;
}

const char *colour_bold(void)
{
    return coloured() ? "\033[1m" : "";
}

const char *colour_dim(void)
{
    return coloured() ? "\033[2m" : "";
}

const char *colour_red(void)
{
    return coloured() ? "\033[31m" : "";
}

const char *colour_off(void)
{
    return coloured() ? "\033[0m" : "";
}

int complain(const char *what)
{
    fprintf(stderr, "sesqui: %s: %s\n", what, ssq_last_error());
    return EXIT_FAILED;
}

static void print_command(FILE *f, const struct tool_command *c)
{
    fprintf(f, "  %-8s %s\n           %s\n", c->name, c->usage, c->summary);
}

/* Print the help for all commands. It omits --child and --first, which only the
 * program itself uses. */
static void print_help(FILE *f)
{
    fprintf(f, "usage: sesqui COMMAND [OPTIONS]\n\ncommands:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        print_command(f, &commands[i]);
    fprintf(f, "\n  help COMMAND   the options of a command\n"
               "  help ops       the names that --op takes\n"
               "  -h, --help, -V, --version\n\n"
               "D is a device as `sesqui devices` lists it; O is an op, a "
               "table or a function.\n"
               "exit codes: 0 done, 1 something failed, 2 wrong usage\n");
}

static const struct tool_command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int no_command(const char *name)
{
    fprintf(stderr, "sesqui: no such command: %s; there are", name);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", commands[i].name);
    fprintf(stderr, "; see sesqui --help\n");
    return EXIT_USAGE;
}

static void print_command_help(FILE *f, const struct tool_command *c)
{
    fprintf(f, "usage: sesqui %s %s\n\n%s\n\n", c->name, c->usage, c->summary);
    options_print(f, c);
}

/* Run `sesqui help [WORD]`; word: NULL without one. */
static int help(const char *word)
{
    const struct tool_command *c = word == NULL ? NULL : command_named(word);
    if (word == NULL)
        print_help(stdout);
    else if (strcmp(word, "ops") == 0)
        names_print(stdout);
    else if (c != NULL)
        print_command_help(stdout, c);
    else
        return no_command(word);
    return EXIT_FINE;
}

/* Apply --threads to devices that are opened later. */
static bool set_threads(const struct options *o)
{
    char number[16];
    snprintf(number, sizeof(number), "%u", o->threads);
    return o->threads == 0 || setenv("SSQ_NUM_THREADS", number, 1) == 0;
}

/* Occupy the three standard descriptors that are closed. Otherwise the next
 * file that is opened would get such a number, and a table of devices might be
 * written into a cache. The replacement allows neither reading of input nor
 * writing of output, so that its use fails. */
static void keep_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Flush standard output. A full disk or a closed pipe is a failure, too. */
static int sesqui_finish(int code)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    fprintf(stderr, "sesqui: standard output cannot be written\n");
    return code == EXIT_FINE ? EXIT_FAILED : code;
}

static int sesqui_run(const struct tool_command *c, int argc, char **argv)
{
    struct options o = {.cases = 4, .first = 1};
    int code = options_read(c, argc, argv, &o);
    if (o.help)
        print_command_help(stdout, c);
    if (code != EXIT_FINE || o.help)
        return code;
    progress_library();
    /* Cases wait for one kernel at a time. If a kernel does not compile, only
     * its own case must fail, and not the queue of the others. */
    if (c->run == command_verify || c->run == command_certify ||
        c->run == command_report)
        (void)setenv("SSQ_VULKAN_THREADS", "0", 0);
    return set_threads(&o) ? c->run(&o) : EXIT_FAILED;
}

static bool is(const char *word, const char *name, const char *letter)
{
    return strcmp(word, name) == 0 || strcmp(word, letter) == 0;
}

int main(int argc, char **argv)
{
    keep_places();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (is(argv[1], "--version", "-V")) {
        version_print(stdout);
        return sesqui_finish(EXIT_FINE);
    }
    if (is(argv[1], "--help", "-h"))
        return sesqui_finish(help(NULL));
    if (strcmp(argv[1], "help") == 0) {
        if (argc > 3)
            return usage_error("help is of one command, not also", argv[3]);
        return sesqui_finish(help(argv[2]));
    }
    const struct tool_command *c = command_named(argv[1]);
    return c == NULL ? no_command(argv[1])
                     : sesqui_finish(sesqui_run(c, argc - 2, argv + 2));
}
