/* SPDX-License-Identifier: Apache-2.0 */
/* unary_test.c - the unary table on every device. */
#include "tests/op/suite.h"

extern const struct suite unary_suite;

int main(void)
{
    return suite_main(&unary_suite, 1348);
}
