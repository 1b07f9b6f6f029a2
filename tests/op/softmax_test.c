/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_test.c - the softmax table on every device. */
#include "tests/op/suite.h"

extern const struct suite softmax_suite;

int main(void)
{
    return suite_main(&softmax_suite, 100);
}
