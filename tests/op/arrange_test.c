/* SPDX-License-Identifier: Apache-2.0 */
/* arrange_test.c - the table `arrange` on every device. */
#include "tests/op/suite.h"

extern const struct suite arrange_suite;

int main(void)
{
    return suite_main(&arrange_suite, 36);
}
