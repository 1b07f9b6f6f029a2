/* SPDX-License-Identifier: Apache-2.0 */
/* conv_backward_test.c - the conv_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite conv_backward_suite;

int main(void)
{
    return suite_main(&conv_backward_suite, 140);
}
