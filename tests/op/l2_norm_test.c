/* SPDX-License-Identifier: Apache-2.0 */
/* l2_norm_test.c - the table `l2_norm` on every device. */
#include "tests/op/suite.h"

extern const struct suite l2_norm_suite;

int main(void)
{
    return suite_main(&l2_norm_suite, 402);
}
