/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_test.c - the conv_transpose table on every device. */
#include "tests/op/suite.h"

extern const struct suite conv_transpose_suite;

int main(void)
{
    return suite_main(&conv_transpose_suite, 140);
}
