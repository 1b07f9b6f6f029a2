#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# c.sh - the kernels as C.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches C '1,1' ${CC:-cc} -x c -std=c11 -ffp-contract=off -Wall \
    -Wextra -Wno-unused-function -Werror -c -o "$tmp/object"
tap_done 1
