/* SPDX-License-Identifier: Apache-2.0 */
/* gru_cell_test.c - the gru_cell table on every device. */
#include "tests/op/suite.h"

extern const struct suite gru_cell_suite;

int main(void)
{
    return suite_main(&gru_cell_suite, 250);
}
