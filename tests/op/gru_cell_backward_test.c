/* SPDX-License-Identifier: Apache-2.0 */
/* gru_cell_backward_test.c - the gru_cell_backward table on every device. */
#include "tests/op/suite.h"

extern const struct suite gru_cell_backward_suite;

int main(void)
{
    return suite_main(&gru_cell_backward_suite, 250);
}
