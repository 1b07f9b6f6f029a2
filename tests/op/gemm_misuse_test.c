/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_misuse_test.c - what gemm refuses and explains as a test program. */
#include "tests/op/suite.h"

extern const struct suite gemm_misuse_suite;

int main(void)
{
    return suite_main(&gemm_misuse_suite, 2 * 45);
}
