/* SPDX-License-Identifier: Apache-2.0 */
/* random_test.c - the table `random` on every device. */
#include "tests/op/suite.h"

extern const struct suite random_suite;

int main(void)
{
    return suite_main(&random_suite, 426);
}
