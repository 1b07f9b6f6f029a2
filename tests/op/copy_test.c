/* SPDX-License-Identifier: Apache-2.0 */
/* copy_test.c - the table `copy` on every device. */
#include "tests/op/suite.h"

extern const struct suite copy_suite;

int main(void)
{
    return suite_main(&copy_suite, 290);
}
