/* SPDX-License-Identifier: Apache-2.0 */
/* gru_test.c - the gru table on every device. */
#include "tests/op/suite.h"

extern const struct suite gru_suite;

int main(void)
{
    return suite_main(&gru_suite, 250);
}
