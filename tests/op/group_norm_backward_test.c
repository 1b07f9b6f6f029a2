/* SPDX-License-Identifier: Apache-2.0 */
/* group_norm_backward_test.c - the group_norm_backward table on every device.
 */
#include "tests/op/suite.h"

extern const struct suite group_norm_backward_suite;

int main(void)
{
    return suite_main(&group_norm_backward_suite, 400);
}
