/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the list of all case tables, by the ops that they test. */
#include "lib/core/module/ops.h"
#include "tests/op/suite.h"

#include <stddef.h>

#define X(NAME, WALKED, FUNCTIONS, TABLES, STRUCT) TABLES

#define TABLE(NAME) extern const struct suite NAME##_suite;
SSQ_OPS(X)
#undef TABLE

const struct suite *const suites[] = {
#define TABLE(NAME) &NAME##_suite,
    SSQ_OPS(X)
#undef TABLE
        NULL,
};
