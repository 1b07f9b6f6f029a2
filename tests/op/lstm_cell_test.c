/* SPDX-License-Identifier: Apache-2.0 */
/* lstm_cell_test.c - the lstm_cell table on every device. */
#include "tests/op/suite.h"

extern const struct suite lstm_cell_suite;

int main(void)
{
    return suite_main(&lstm_cell_suite, 250);
}
