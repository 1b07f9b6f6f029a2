#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# c.sh - the kernels as C. The front end finds what the language forbids; what
# the compiler makes of them the reference's tables tell.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches C '1,1' ${CC:-cc} -x c -std=c11 -ffp-contract=off -Wall \
    -Wextra -Wno-unused-function -Werror -fsyntax-only
tap_done 1
