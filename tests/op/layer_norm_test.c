/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm_test.c - the layer_norm table on every device. */
#include "tests/op/suite.h"

extern const struct suite layer_norm_suite;

int main(void)
{
    return suite_main(&layer_norm_suite, 550);
}
