/* SPDX-License-Identifier: Apache-2.0 */
/* init_test.c - the table `init` on every device. */
#include "tests/op/suite.h"

extern const struct suite init_suite;

int main(void)
{
    return suite_main(&init_suite, 122);
}
