/* SPDX-License-Identifier: Apache-2.0 */
/* binary_test.c - the binary table on every device. */
#include "tests/op/suite.h"

extern const struct suite binary_suite;

int main(void)
{
    return suite_main(&binary_suite, 444);
}
