/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_test.c - the table `reduce` on every device. */
#include "tests/op/suite.h"

extern const struct suite reduce_suite;

int main(void)
{
    return suite_main(&reduce_suite, 1140);
}
