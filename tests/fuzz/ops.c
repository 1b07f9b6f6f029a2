/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the table of all ops, written from their headers by table.awk. */

#include "tests/fuzz/ops.h"

#include "table.h"

const struct fuzz_op *const fuzz_ops = table;
const size_t fuzz_ops_count = sizeof(table) / sizeof(table[0]);
