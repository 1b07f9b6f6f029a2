/* SPDX-License-Identifier: Apache-2.0 */
/* loss_test.c - the loss table on every device. */
#include "tests/op/suite.h"

extern const struct suite loss_suite;

int main(void)
{
    return suite_main(&loss_suite, 600);
}
