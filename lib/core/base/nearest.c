/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c - find the known name that is nearest to a misspelt one. */
#include "lib/core/base/nearest.h"

#include <stdio.h>
#include <string.h>

/* Return the Levenshtein distance of two names: the characters to insert,
 * delete or replace. Returns most + 1 if it is larger than `most`, or if b is
 * too long. */
static size_t nearest_distance(const char *a, size_t m, const char *b,
                               size_t most)
{
    size_t row[NEAREST_NAME], n = strlen(b);
    if (n >= NEAREST_NAME || m > n + most || n > m + most)
        return most + 1;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t before = row[0]; /* of the previous row, one to the left */
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            size_t other = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = replaced < other + 1 ? replaced : other + 1;
        }
    }
    return row[n] <= most ? row[n] : most + 1;
}

struct nearest nearest_begin(const char *name, size_t n)
{
    return (struct nearest){name, n, n < NEAREST_NAME ? n / 2 : 0, NULL};
}

void nearest_look(struct nearest *s, const char *name)
{
    if (s->least == 0)
        return;
    size_t d = nearest_distance(s->name, s->n, name, s->least - 1);
    if (d >= s->least)
        return;
    s->least = d;
    s->found = name;
}

void nearest_question(const struct nearest *s, char text[NEAREST_QUESTION])
{
    text[0] = '\0';
    if (s->found != NULL)
        (void)snprintf(text, NEAREST_QUESTION, "; did you mean \"%s\"?",
                       s->found);
}
