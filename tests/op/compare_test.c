/* SPDX-License-Identifier: Apache-2.0 */
/* compare_test.c - the compare table on every device. */
#include "tests/op/suite.h"

extern const struct suite compare_suite;

int main(void)
{
    return suite_main(&compare_suite, 142);
}
