/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - files that should be the same. */
#ifndef TESTS_COMM_FILES_H
#define TESTS_COMM_FILES_H

#include <stdbool.h>
#include <stdio.h>

static inline bool same_files(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    bool same = f != NULL && g != NULL;

    for (int c = 0; same && c != EOF;) {
        c = getc(f);
        same = c == getc(g);
    }
    if (f != NULL)
        fclose(f);
    if (g != NULL)
        fclose(g);
    return same;
}

#endif
