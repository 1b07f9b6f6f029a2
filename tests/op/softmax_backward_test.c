/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_backward_test.c - the softmax_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite softmax_backward_suite;

int main(void)
{
    return suite_main(&softmax_backward_suite, 100);
}
