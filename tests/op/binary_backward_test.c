/* SPDX-License-Identifier: Apache-2.0 */
/* binary_backward_test.c - the binary_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite binary_backward_suite;

int main(void)
{
    return suite_main(&binary_backward_suite, 282);
}
