/* SPDX-License-Identifier: Apache-2.0 */
/* fill_test.c - the table `fill` on every device. */
#include "tests/op/suite.h"

extern const struct suite fill_suite;

int main(void)
{
    return suite_main(&fill_suite, 2162);
}
