/* SPDX-License-Identifier: Apache-2.0 */
/* slide_misuse_test.c - the slide_misuse table on every device. */
#include "tests/op/suite.h"

extern const struct suite slide_misuse_suite;

int main(void)
{
    return suite_main(&slide_misuse_suite, 200);
}
