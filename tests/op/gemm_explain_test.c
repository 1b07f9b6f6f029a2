/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_explain_test.c - gemm explained as a test program. */
#include "tests/op/suite.h"

extern const struct suite gemm_explain_suite;

int main(void)
{
    return suite_main(&gemm_explain_suite, 2 * 7);
}
