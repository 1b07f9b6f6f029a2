/* SPDX-License-Identifier: Apache-2.0 */
/* attention_test.c - the attention table on every device. */
#include "tests/op/suite.h"

extern const struct suite attention_suite;

int main(void)
{
    return suite_main(&attention_suite, 55);
}
