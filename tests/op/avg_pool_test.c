/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool_test.c - the avg_pool table on every device. */
#include "tests/op/suite.h"

extern const struct suite avg_pool_suite;

int main(void)
{
    return suite_main(&avg_pool_suite, 130);
}
