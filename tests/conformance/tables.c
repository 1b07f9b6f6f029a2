/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - the test program of all case tables.
 *
 * usage: tables [PATH/]NAME[.table]: run the table NAME on every device, as
 * TAP. tables: print the name of each table, and the op that it tests. */
#include "conformance/suite.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>

/* Two tables take most of the time of all: make check runs one of their cases
 * in 7, which has no factor in common with any list that cases are made of. */
static void thin(const char *name)
{
    if (!tap_full() &&
        (strcmp(name, "gemm_shapes") == 0 || strcmp(name, "optimizer") == 0))
        setenv("SSQ_TEST_STRIDE", "7", 0);
}

static int list_tables(void)
{
    for (size_t i = 0; suites[i] != NULL; i++)
        printf("%s %s\n", suites[i]->name, suites[i]->op);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return list_tables();
    const char *path = argc == 2 ? argv[1] : "";
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = strcspn(name, ".");
    for (size_t i = 0; suites[i] != NULL; i++)
        if (strlen(suites[i]->name) == length &&
            strncmp(suites[i]->name, name, length) == 0) {
            thin(suites[i]->name);
            return suite_main(suites[i]);
        }
    fprintf(stderr, "tables: there is no table '%.*s'\n", (int)length, name);
    return 2;
}
