/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_add_test.c - the table `scatter_add` on every device. */
#include "tests/op/suite.h"

extern const struct suite scatter_add_suite;

int main(void)
{
    return suite_main(&scatter_add_suite, 28);
}
