/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward_test.c - the attention_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite attention_backward_suite;

int main(void)
{
    return suite_main(&attention_backward_suite, 40);
}
