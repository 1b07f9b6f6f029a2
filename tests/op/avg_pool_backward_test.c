/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool_backward_test.c - the avg_pool_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite avg_pool_backward_suite;

int main(void)
{
    return suite_main(&avg_pool_backward_suite, 100);
}
