/* SPDX-License-Identifier: Apache-2.0 */
/* conv_test.c - the conv table on every device. */
#include "tests/op/suite.h"

extern const struct suite conv_suite;

int main(void)
{
    return suite_main(&conv_suite, 250);
}
