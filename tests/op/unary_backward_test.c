/* SPDX-License-Identifier: Apache-2.0 */
/* unary_backward_test.c - the unary_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite unary_backward_suite;

int main(void)
{
    return suite_main(&unary_backward_suite, 962);
}
