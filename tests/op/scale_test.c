/* SPDX-License-Identifier: Apache-2.0 */
/* scale_test.c - the scale table on every device. */
#include "tests/op/suite.h"

extern const struct suite scale_suite;

int main(void)
{
    return suite_main(&scale_suite, 36);
}
