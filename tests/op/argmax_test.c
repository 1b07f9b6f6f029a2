/* SPDX-License-Identifier: Apache-2.0 */
/* argmax_test.c - the table `argmax` on every device. */
#include "tests/op/suite.h"

extern const struct suite argmax_suite;

int main(void)
{
    return suite_main(&argmax_suite, 1604);
}
