/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm_test.c - the batch_norm table on every device. */
#include "tests/op/suite.h"

extern const struct suite batch_norm_suite;

int main(void)
{
    return suite_main(&batch_norm_suite, 400);
}
