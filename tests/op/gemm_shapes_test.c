/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_shapes_test.c - the shapes of gemm as a test program. */
#include "tests/op/suite.h"

extern const struct suite gemm_shapes_suite;

int main(void)
{
    return suite_main(&gemm_shapes_suite, 2 * 81);
}
