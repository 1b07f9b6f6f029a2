/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool_backward_test.c - the max_pool_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite max_pool_backward_suite;

int main(void)
{
    return suite_main(&max_pool_backward_suite, 130);
}
