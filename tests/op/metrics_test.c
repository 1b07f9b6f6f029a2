/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_test.c - the metrics table on every device. */
#include "tests/op/suite.h"

extern const struct suite metrics_suite;

int main(void)
{
    return suite_main(&metrics_suite, 50);
}
