/* SPDX-License-Identifier: Apache-2.0 */
/* sesqui.c - the `sesqui` program: choose the subcommand, read its options. */
#include "tools/tool.h"

#include <sesqui/cpu.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    int (*run)(const struct options *o);
    const char *accepts; /* the options it takes, each between spaces */
    const char *usage, *summary;
};

static const struct command commands[] = {
    {"devices", command_devices, " --why --json ", "[--why] [--json]",
     "list the devices; --why: also why each is or is not there"},
    {"verify", command_verify, " --device --op --report ",
     "[--device D] [--op O] [--report FILE]",
     "certify devices against the reference, in TAP"},
    {"certify", command_certify,
     " --device --op --seconds --once --child --cases ",
     "[DEVICE] [--op O] [--seconds S] [--once]",
     "verify in a process of its own, and keep the verdict"},
    {"support", command_support, " --device --op --json ",
     "[--device D] [--op O] [--json]",
     "op x dtype x implementation, from the admission tests"},
    {"bench", command_bench,
     " --device --vs --op --json --csv --cases --seconds --threads --plot "
     "--list ",
     "[SUITE|-] [--device D] [--vs D] [--op O] [--threads N]\n"
     "           [--cases N] [--seconds S] [--json|--csv] [--plot FILE] "
     "[--list]",
     "time a suite (gemm, memory, optimizer, ops, train, latency), the\n"
     "           cases of standard input, or the tables' largest"},
    {"tune", command_tune,
     " --device --types --trans --tf32 --clear --json --train --threads "
     "--seconds ",
     "[M,N,K[,BATCH]].. [--device D] [--types T[,T]] [--threads N]\n"
     "           [--trans nn|nt|tn|tt] [--tf32] [--json] | --clear\n"
     "           --train [--types T] [--seconds S] [--json] | --train --clear",
     "find the fastest implementation of products, and keep it;\n"
     "           --train: how fast the device trains, for ranks' shares"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* The environment is asked by the usual rules: https://no-color.org, and a
 * terminal that says what it is. */
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

/* Bytes from 0x80 on are handed through as they are. */
void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

int complain(const char *what)
{
    fprintf(stderr, "sesqui: %s: %s\n", what, ssq_last_error());
    return EXIT_FAILED;
}

/* Of all commands; --child and certify's --cases are for itself alone. */
static void print_help(FILE *f)
{
    fprintf(f, "usage: sesqui COMMAND [OPTIONS]\n\ncommands:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(f, "  %-8s %s\n           %s\n", commands[i].name,
                commands[i].usage, commands[i].summary);
    fprintf(f, "\n  --help, --version\n\n"
               "D is a device as `sesqui devices` lists it; O is an op or a "
               "table's name.\n"
               "exit codes: 0 done, 1 something failed, 2 wrong usage\n");
}

static int usage_error(const char *what, const char *word)
{
    fprintf(stderr, "sesqui: %s %s; see sesqui --help\n", what, word);
    return EXIT_USAGE;
}

/* Is the option in the command's list? Both ends are blanks there, so that no
 * option is found in the middle of another. */
static bool accepted(const struct command *c, const char *option)
{
    char word[40];
    snprintf(word, sizeof(word), " %s ", option);
    return strstr(c->accepts, word) != NULL;
}

/* Where the value of an option goes if it is a text; NULL for numbers. */
static const char **value_of(struct options *o, const char *option)
{
    if (strcmp(option, "--device") == 0)
        return &o->device;
    if (strcmp(option, "--op") == 0)
        return &o->op;
    if (strcmp(option, "--types") == 0)
        return &o->types;
    if (strcmp(option, "--trans") == 0)
        return &o->orders;
    if (strcmp(option, "--vs") == 0)
        return &o->vs;
    if (strcmp(option, "--plot") == 0)
        return &o->plot;
    return strcmp(option, "--report") == 0 ? &o->report : NULL;
}

/* The flag that an option sets; NULL if it wants a value. */
static bool *flag_of(struct options *o, const char *option)
{
    if (strcmp(option, "--json") == 0)
        return &o->json;
    if (strcmp(option, "--csv") == 0)
        return &o->csv;
    if (strcmp(option, "--list") == 0)
        return &o->list;
    if (strcmp(option, "--once") == 0)
        return &o->once;
    if (strcmp(option, "--child") == 0)
        return &o->child;
    if (strcmp(option, "--tf32") == 0)
        return &o->tf32;
    if (strcmp(option, "--clear") == 0)
        return &o->clear;
    if (strcmp(option, "--train") == 0)
        return &o->train;
    return strcmp(option, "--why") == 0 ? &o->why : NULL;
}

/* A number from 1 on: digits and nothing else, as the library reads its
 * variables. One that is too large for strtoul is above most. */
static bool read_count(const char *value, unsigned long most, unsigned *n)
{
    char *end = NULL;
    if (*value < '0' || *value > '9')
        return false;
    unsigned long x = strtoul(value, &end, 10);
    *n = (unsigned)x;
    return *end == '\0' && x >= 1 && x <= most;
}

/* --seconds, --threads, else --cases, which are all that is neither flag nor
 * text. */
static int read_number(struct options *o, const char *option, const char *value)
{
    char *end = NULL;
    if (strcmp(option, "--threads") == 0)
        return read_count(value, SSQ_CPU_THREADS, &o->threads)
                   ? EXIT_FINE
                   : usage_error("not a number of threads:", value);
    bool good = false;
    if (strcmp(option, "--seconds") == 0) {
        o->seconds = strtod(value, &end);
        good = *end == '\0' && o->seconds > 0.0;
    } else {
        good = read_count(value, UINT_MAX - 1, &o->cases);
    }
    return good ? EXIT_FINE : usage_error("not a number above 0:", value);
}

/* A word that is no option: certify's device, bench's suite or one of tune's
 * shapes, which are put in front of what has been read. */
static bool take_word(const struct command *c, char **argv, int i,
                      struct options *o)
{
    const bool many = c->run == command_tune || c->run == command_bench;
    if (argv[i][0] == '-' && (argv[i][1] != '\0' || c->run != command_bench))
        return false;
    if (many)
        argv[o->words++] = argv[i];
    if (c->run != command_certify || o->device != NULL)
        return many;
    o->device = argv[i];
    return true;
}

/* Options may be written --op O or --op=O. The code is EXIT_FINE unless the
 * usage is wrong, and then it has been said how. */
static int parse(const struct command *c, int argc, char **argv,
                 struct options *o)
{
    o->word = argv;
    for (int i = 0; i < argc; i++) {
        char option[32];
        if (take_word(c, argv, i, o))
            continue;
        const char *equals = strchr(argv[i], '=');
        size_t n =
            equals == NULL ? strlen(argv[i]) : (size_t)(equals - argv[i]);
        snprintf(option, sizeof(option), "%.*s", (int)n, argv[i]);
        if (strcmp(option, "--help") == 0) {
            o->help = true;
            return EXIT_FINE;
        }
        if (!accepted(c, option))
            return usage_error("no such option:", argv[i]);
        bool *flag = flag_of(o, option);
        if (flag != NULL && equals != NULL)
            return usage_error("no value belongs to", option);
        if (flag != NULL) {
            *flag = true;
            continue;
        }
        /* argv ends with a NULL, which is a value that is missing */
        const char *value = equals != NULL ? equals + 1 : argv[++i];
        if (value == NULL || *value == '\0')
            return usage_error("a value is missing after", option);
        const char **place = value_of(o, option);
        if (place != NULL)
            *place = value;
        else if (read_number(o, option, value) != EXIT_FINE)
            return EXIT_USAGE;
        if (equals == NULL && i >= argc)
            break;
    }
    return EXIT_FINE;
}

/* --threads, for devices that are opened from now on. */
static bool set_threads(const struct options *o)
{
    char number[16];
    snprintf(number, sizeof(number), "%u", o->threads);
    return o->threads == 0 || setenv("SSQ_NUM_THREADS", number, 1) == 0;
}

/* Where one of the three is closed, the next file that is opened would take its
 * place, and a table of devices might be written into a cache. What stands
 * there instead can neither be read nor written, so that whoever tries is told.
 */
static void keep_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* A full disk or a closed pipe is a failure, too. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    fprintf(stderr, "sesqui: standard output cannot be written\n");
    return code == EXIT_FINE ? EXIT_FAILED : code;
}

static int run(const struct command *c, int argc, char **argv)
{
    struct options o = {.cases = 4};
    int code = parse(c, argc, argv, &o);
    if (o.help)
        print_help(stdout);
    if (code != EXIT_FINE || o.help)
        return code;
    return set_threads(&o) ? c->run(&o) : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    keep_places();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sesqui %s\n", ssq_version());
        return finish(EXIT_FINE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return finish(EXIT_FINE);
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return finish(run(&commands[i], argc - 2, argv + 2));
    return usage_error("no such command:", argv[1]);
}
