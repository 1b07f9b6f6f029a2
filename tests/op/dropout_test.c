/* SPDX-License-Identifier: Apache-2.0 */
/* dropout_test.c - the table `dropout` on every device. */
#include "tests/op/suite.h"

extern const struct suite dropout_suite;

int main(void)
{
    return suite_main(&dropout_suite, 292);
}
