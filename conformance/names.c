/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names by which a user selects tables: ops, tables, and public
 * functions, each with the op that it calls. */
#include "kernels/elementwise/unary_kinds.h"
#include "lib/core/module/ops.h"
#include "conformance/suite.h"
#include "suite_list.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An op is followed by its functions. */
static const struct {
    const char *name;
    bool op;
} lines[] = {
/* clang-format off */
#define LINE(NAME) {#NAME, false},
#define HALF(NAME) LINE(NAME)
#define FLOAT32(NAME) LINE(NAME)
#define PROMOTE(NAME) LINE(NAME)
#define ANY(NAME) LINE(NAME)
#define UNARY(N, NAME, ...) LINE(NAME)
#define BACKWARD(NAME) /* the name of the forward selects them: below */
#define BACKWARDS(NAME)
#define UNARY_BACKWARDS
#define UNARY_FUNCTIONS UNARY_KINDS(UNARY, UNARY, UNARY, UNARY)
#define X(NAME, WALKED, FUNCTIONS, STRUCT) {#NAME, true}, FUNCTIONS
    /* clang-format on */
    SSQ_OPS(X)
#undef X
};

#define LINES (sizeof(lines) / sizeof(lines[0]))

#define X(NAME) +1
enum { TABLES = 0 SUITES(X) };
#undef X

/* All names, sorted, each once. */
static const char *names[LINES + TABLES];
static size_t count;

/* Does a table test this op? Some ops have no table. */
static bool op_tested(const char *op, size_t length)
{
    for (size_t i = 0; suites[i] != NULL; i++)
        if (strlen(suites[i]->op) == length &&
            strncmp(suites[i]->op, op, length) == 0)
            return true;
    return false;
}

/* Is it the name of an op that has a table, or of a table? */
static bool name_is_exact(const char *name)
{
    if (op_tested(name, strlen(name)))
        return true;
    for (size_t i = 0; suites[i] != NULL; i++)
        if (strcmp(suites[i]->name, name) == 0)
            return true;
    return false;
}

/* The op that calls of the function of this length reach, or NULL. */
static const char *op_of_function(const char *name, size_t length)
{
    const char *op = NULL;
    for (size_t i = 0; i < LINES; i++)
        if (lines[i].op)
            op = lines[i].name;
        else if (strlen(lines[i].name) == length &&
                 strncmp(lines[i].name, name, length) == 0)
            return op;
    return NULL;
}

/* Does a suite test this backward function? OP_backward has tables, or else OP
 * has them. */
static bool backward_named(const struct suite *s, const char *name)
{
    const char *tail = strstr(name, "_backward");
    const char *op =
        tail == NULL ? NULL : op_of_function(name, (size_t)(tail - name));
    char backward[64];
    if (op == NULL)
        return false;
    snprintf(backward, sizeof(backward), "%s_backward", op);
    return strcmp(s->op,
                  op_tested(backward, strlen(backward)) ? backward : op) == 0;
}

bool suite_named(const struct suite *s, const char *name)
{
    if (name == NULL || strcmp(name, s->op) == 0 || strcmp(name, s->name) == 0)
        return true;
    if (name_is_exact(name))
        return false;
    const char *op = op_of_function(name, strlen(name));
    return op != NULL ? strcmp(s->op, op) == 0 : backward_named(s, name);
}

const char *suite_op(const char *function)
{
    return op_of_function(function, strlen(function));
}

static int names_by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static void collect(void)
{
    size_t n = 0;
    bool tested = false;
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].op)
            tested = op_tested(lines[i].name, strlen(lines[i].name));
        if (tested)
            names[n++] = lines[i].name;
    }
    for (size_t i = 0; suites[i] != NULL; i++)
        names[n++] = suites[i]->name;
    qsort(names, n, sizeof(names[0]), names_by_text);
    for (size_t i = 0; i < n; i++)
        if (count == 0 || strcmp(names[count - 1], names[i]) != 0)
            names[count++] = names[i];
}

const char *suite_name(size_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, collect);
    return i < count ? names[i] : NULL;
}
