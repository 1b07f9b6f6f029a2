/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of all subcommands: how each is read, and
 * its help. */
#include "tools/tool.h"

#include <sesqui/cpu.h>

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** 11 days: a larger value is a typing error, and infinity would never end. */
#define SECONDS_MOST 1e6

enum kind { FLAG, TEXT, COUNT, THREADS, SECONDS };

struct options_option {
    const char *name;
    enum kind kind;
    size_t at;         /* offset of its member in struct options */
    const char *value; /* its name in help; NULL: a flag */
    const char *help;  /* NULL: only for the program itself */
};

#define AT(MEMBER) offsetof(struct options, MEMBER)

static const struct options_option options[] = {
    {"--device", TEXT, AT(device), "D", "a device, as `sesqui devices` lists"},
    {"--vs", TEXT, AT(vs), "D", "time the cases on this device too, in turn"},
    {"--op", TEXT, AT(op), "O",
     "an op, a table or a function: `sesqui help ops`"},
    {"--report", TEXT, AT(report), "FILE", "the TAP goes to this file"},
    {"--types", TEXT, AT(types), "T[,T]",
     "dtype of factors, and of the result"},
    {"--trans", TEXT, AT(orders), "nn|nt|tn|tt",
     "t: that factor is transposed"},
    {"--plot", TEXT, AT(plot), "FILE", "draw the cases as a roofline, SVG"},
    {"--cases", COUNT, AT(cases), "N",
     "most expensive cases of each table (4)"},
    {"--threads", THREADS, AT(threads), "N", "SSQ_NUM_THREADS for this run"},
    {"--seconds", SECONDS, AT(seconds), "S",
     "most seconds: certify of a table (600), else of a line (10)"},
    {"--json", FLAG, AT(json), NULL, "print JSON"},
    {"--csv", FLAG, AT(csv), NULL, "print comma-separated values"},
    {"--list", FLAG, AT(list), NULL, "print the cases of the suite"},
    {"--why", FLAG, AT(why), NULL, "why each device is or is not there"},
    {"--once", FLAG, AT(once), NULL,
     "devices with a driver, without a verdict, alone"},
    {"--tf32", FLAG, AT(tf32), NULL, "f32 products that may be cut to TF32"},
    {"--clear", FLAG, AT(clear), NULL, "forget what was found"},
    {"--train", FLAG, AT(train), NULL, "how fast the device trains"},
    {"--child", FLAG, AT(child), NULL, NULL},
    {"--first", COUNT, AT(first), "N", NULL},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

int usage_error(const char *what, const char *word)
{
    fprintf(stderr, "sesqui: %s %s; see sesqui --help\n", what, word);
    return EXIT_USAGE;
}

/* Return true if the option is in the command's list. The search includes the
 * blanks at both ends, so that no option is found within another. */
static bool accepted(const struct tool_command *c, const char *name)
{
    char word[40];
    snprintf(word, sizeof(word), " %s ", name);
    return strstr(c->accepts, word) != NULL;
}

/* Return the option whose name is the first n characters of word, if the
 * command takes it. */
static const struct options_option *options_find(const struct tool_command *c,
                                                 const char *word, size_t n)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strlen(options[i].name) == n &&
            strncmp(options[i].name, word, n) == 0 &&
            accepted(c, options[i].name))
            return &options[i];
    return NULL;
}

void options_print(FILE *f, const struct tool_command *c)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct options_option *p = &options[i];
        char text[40];
        if (!accepted(c, p->name) || p->help == NULL)
            continue;
        snprintf(text, sizeof(text), "%s%s%s", p->name,
                 p->value == NULL ? "" : " ", p->value == NULL ? "" : p->value);
        fprintf(f, "  %-20s %s\n", text, p->help);
    }
    fprintf(f, "  %-20s %s\n", "-h, --help", "print this");
}

/* Read a number of at least 1: only digits, as the library reads its variables.
 * A number too large for strtoul exceeds `most`. */
static bool read_count(const char *value, unsigned long most, unsigned *n)
{
    char *end = NULL;
    if (*value < '0' || *value > '9')
        return false;
    unsigned long x = strtoul(value, &end, 10);
    *n = (unsigned)x;
    return *end == '\0' && x >= 1 && x <= most;
}

/* Read a decimal number of seconds above 0. */
static bool read_seconds(const char *value, double *seconds)
{
    if (value[strspn(value, "0123456789.eE+-")] != '\0')
        return false;
    char *end = NULL;
    *seconds = strtod(value, &end);
    return end != value && *end == '\0' && *seconds > 0.0 &&
           *seconds <= SECONDS_MOST;
}

static int read_value(const struct options_option *p, const char *value,
                      struct options *o)
{
    void *at = (char *)o + p->at;
    switch (p->kind) {
    case FLAG:
        *(bool *)at = true;
        return EXIT_FINE;
    case TEXT:
        *(const char **)at = value;
        return EXIT_FINE;
    case COUNT:
        return read_count(value, UINT_MAX - 1, at)
                   ? EXIT_FINE
                   : usage_error("not a number above 0:", value);
    case THREADS:
        return read_count(value, SSQ_CPU_THREADS, at)
                   ? EXIT_FINE
                   : usage_error("not a number of threads:", value);
    case SECONDS:
        break;
    }
    return read_seconds(value, at)
               ? EXIT_FINE
               : usage_error("not a number of seconds above 0, at most 1e6:",
                             value);
}

/* Keep a word that is not an option. Returns false if it is an option, or
 * not expected. */
static bool options_take_word(const struct tool_command *c, char *word,
                              char **argv, struct options *o)
{
    if (word[0] == '-' && (word[1] != '\0' || !c->dash))
        return false;
    if (c->words)
        argv[o->words++] = word;
    if (!c->device || o->device != NULL)
        return c->words;
    o->device = word;
    return true;
}

int options_read(const struct tool_command *c, int argc, char **argv,
                 struct options *o)
{
    o->word = argv;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (options_take_word(c, word, argv, o))
            continue;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            o->help = true;
            return EXIT_FINE;
        }
        const char *equals = strchr(word, '=');
        const struct options_option *p = options_find(
            c, word, equals == NULL ? strlen(word) : (size_t)(equals - word));
        if (p == NULL)
            return usage_error("no such option:", word);
        if (p->kind == FLAG && equals != NULL)
            return usage_error("no value belongs to", p->name);
        const char *value = NULL;
        if (p->kind != FLAG) {
            /* argv ends with NULL: then the value is missing */
            value = equals != NULL ? equals + 1 : argv[++i];
            if (value == NULL || *value == '\0')
                return usage_error("a value is missing after", p->name);
        }
        if (read_value(p, value, o) != EXIT_FINE)
            return EXIT_USAGE;
    }
    return EXIT_FINE;
}
