/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy_test.c - the cross_entropy table on every device. */
#include "tests/op/suite.h"

extern const struct suite cross_entropy_suite;

int main(void)
{
    return suite_main(&cross_entropy_suite, 700);
}
