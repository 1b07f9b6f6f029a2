/* SPDX-License-Identifier: Apache-2.0 */
/* gather_test.c - the table `gather` on every device. */
#include "tests/op/suite.h"

extern const struct suite gather_suite;

int main(void)
{
    return suite_main(&gather_suite, 28);
}
