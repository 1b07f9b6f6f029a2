/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_test.c - the rotary table on every device. */
#include "tests/op/suite.h"

extern const struct suite rotary_suite;

int main(void)
{
    return suite_main(&rotary_suite, 80);
}
