/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the list of all case tables: tests/op/tests.mk's, as C. */
#include "tests/op/suite.h"
#include "tests/op/tables.h"

#include <stddef.h>

#define X(NAME) extern const struct suite NAME##_suite;
TABLES(X)
#undef X

const struct suite *const suites[] = {
#define X(NAME) &NAME##_suite,
    TABLES(X)
#undef X
        NULL,
};
