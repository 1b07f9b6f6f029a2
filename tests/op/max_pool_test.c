/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool_test.c - the max_pool table on every device. */
#include "tests/op/suite.h"

extern const struct suite max_pool_suite;

int main(void)
{
    return suite_main(&max_pool_suite, 150);
}
