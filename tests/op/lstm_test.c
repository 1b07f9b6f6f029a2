/* SPDX-License-Identifier: Apache-2.0 */
/* lstm_test.c - the lstm table on every device. */
#include "tests/op/suite.h"

extern const struct suite lstm_suite;

int main(void)
{
    return suite_main(&lstm_suite, 250);
}
