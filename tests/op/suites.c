/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the list of all case tables, for `sesqui verify`. */
#include "tests/op/suite.h"

#include <stddef.h>

/* one line per table: declared and listed */
#define SUITES(X) /* the end of the list */

#define X(NAME) extern const struct suite NAME##_suite;
SUITES(X)
#undef X

const struct suite *const suites[] = {
#define X(NAME) &NAME##_suite,
    SUITES(X)
#undef X
        NULL,
};
