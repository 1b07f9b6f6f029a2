/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names that --op takes, and the message for an unknown name. */
#include "conformance/suite.h"
#include "tools/tool.h"

#include <string.h>

#define LONGEST 48 /* maximum length; a longer name has no nearest one */
#define COLUMNS 79

/* The edit distance of two names (Levenshtein). */
static size_t names_distance(const char *a, const char *b)
{
    size_t row[LONGEST + 1];
    const size_t n = strlen(b);
    if (strlen(a) > LONGEST || n > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t least = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            least = row[j] + 1 < least ? row[j] + 1 : least;
            row[j + 1] = diagonal + 1 < least ? diagonal + 1 : least;
        }
    }
    return row[n];
}

/* Return name i: first the names of the tables, then `more`. NULL: i is
 * too large. */
static const char *name_at(size_t i, bool tables, const char *const *more)
{
    size_t n = 0;
    if (tables)
        for (; suite_name(n) != NULL; n++)
            if (n == i)
                return suite_name(n);
    for (size_t k = 0; more != NULL && more[k] != NULL; k++)
        if (n + k == i)
            return more[k];
    return NULL;
}

static bool tables_have(const char *name)
{
    for (size_t i = 0; suites[i] != NULL; i++)
        if (suite_named(suites[i], name))
            return true;
    return false;
}

/* Return the nearest name if at most a third of its letters are wrong. */
static const char *names_nearest(const char *name, bool tables,
                                 const char *const *more)
{
    const char *best = NULL;
    size_t least = LONGEST;
    for (size_t i = 0; name_at(i, tables, more) != NULL; i++) {
        const char *known = name_at(i, tables, more);
        const size_t d = names_distance(name, known);
        if (d < least && 3 * d <= strlen(known)) {
            least = d;
            best = known;
        }
    }
    return best;
}

static void names_list(bool tables, const char *const *more)
{
    size_t column = 0;
    for (size_t i = 0; name_at(i, tables, more) != NULL; i++) {
        const char *name = name_at(i, tables, more);
        const size_t n = strlen(name);
        const bool next = column == 0 || column + 1 + n > COLUMNS;
        fprintf(stderr, "%s%s", !next ? " " : i == 0 ? "" : "\n", name);
        column = next ? n : column + 1 + n;
    }
    fprintf(stderr, "\n");
}

bool names_check(const char *command, const char *what, const char *name,
                 bool tables, const char *const *more)
{
    for (size_t i = 0; more != NULL && more[i] != NULL; i++)
        if (name_selects(name, more[i]))
            return true;
    if (tables && tables_have(name))
        return true;
    const char *near = names_nearest(name, tables, more);
    fprintf(stderr, "sesqui: %s: %s is named %s", command, what, name);
    if (near != NULL)
        fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nThe names%s:\n",
            tables ? "; NAME_backward selects gradients" : "");
    names_list(tables, more);
    return false;
}

bool names_check_table(const char *command, const char *name)
{
    return names_check(command, "no op or table", name, true, NULL);
}

void names_print(FILE *f)
{
    for (size_t i = 0; suite_name(i) != NULL; i++)
        fprintf(f, "%s\n", suite_name(i));
}

bool name_selects(const char *name, const char *op)
{
    const char *of_name = suite_op(name), *of_op = suite_op(op);
    return strcmp(name, op) == 0 ||
           (of_name != NULL && strcmp(of_name, op) == 0) ||
           (of_op != NULL && strcmp(of_op, name) == 0);
}
