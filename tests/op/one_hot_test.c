/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot_test.c - the table `one_hot` on every device. */
#include "tests/op/suite.h"

extern const struct suite one_hot_suite;

int main(void)
{
    return suite_main(&one_hot_suite, 22);
}
