/* SPDX-License-Identifier: Apache-2.0 */
/* attention_misuse_test.c - the attention_misuse table on every device. */
#include "tests/op/suite.h"

extern const struct suite attention_misuse_suite;

int main(void)
{
    return suite_main(&attention_misuse_suite, 7);
}
