/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward_test.c - the table `reduce_backward` on every device. */
#include "tests/op/suite.h"

extern const struct suite reduce_backward_suite;

int main(void)
{
    return suite_main(&reduce_backward_suite, 652);
}
