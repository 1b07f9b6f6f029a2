/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_test.c - the table `optimizer` on every device. */
#include "tests/op/suite.h"

extern const struct suite optimizer_suite;

int main(void)
{
    return suite_main(&optimizer_suite, 2 * 20 * 7);
}
