/* SPDX-License-Identifier: Apache-2.0 */
/* lstm_cell_backward_test.c - the lstm_cell_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite lstm_cell_backward_suite;

int main(void)
{
    return suite_main(&lstm_cell_backward_suite, 250);
}
