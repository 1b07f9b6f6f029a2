/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the list of all tables. */
#include "conformance/suite.h"

#include <stddef.h>

/* SUITES(X): X(NAME) for each NAME_suite that a file of this layer defines, in
 * the order of op_tables in lists.mk. make writes it. */
#include "suite_list.h"

#define X(NAME) extern const struct suite NAME##_suite;
SUITES(X)
#undef X

const struct suite *const suites[] = {
#define X(NAME) &NAME##_suite,
    SUITES(X)
#undef X
        NULL,
};
