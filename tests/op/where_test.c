/* SPDX-License-Identifier: Apache-2.0 */
/* where_test.c - the where table on every device. */
#include "tests/op/suite.h"

extern const struct suite where_suite;

int main(void)
{
    return suite_main(&where_suite, 38);
}
