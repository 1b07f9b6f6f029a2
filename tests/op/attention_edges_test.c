/* SPDX-License-Identifier: Apache-2.0 */
/* attention_edges_test.c - the attention_edges table on every device. */
#include "tests/op/suite.h"

extern const struct suite attention_edges_suite;

int main(void)
{
    return suite_main(&attention_edges_suite, 30);
}
