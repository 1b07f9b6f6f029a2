/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_exact_test.c - the exact table of gemm as a test program. */
#include "tests/op/suite.h"

extern const struct suite gemm_exact_suite;

int main(void)
{
    return suite_main(&gemm_exact_suite, 2 * 196);
}
