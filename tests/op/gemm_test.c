/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_test.c - the covering table of gemm as a test program. */
#include "tests/op/suite.h"

extern const struct suite gemm_suite;

int main(void)
{
    return suite_main(&gemm_suite, 2 * 601);
}
