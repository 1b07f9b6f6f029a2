/* SPDX-License-Identifier: Apache-2.0 */
/* cast_test.c - the table `cast` on every device. */
#include "tests/op/suite.h"

extern const struct suite cast_suite;

int main(void)
{
    return suite_main(&cast_suite, 254);
}
