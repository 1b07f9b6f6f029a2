#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# c.sh - the kernels as C, and how many programs they make.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches C '1,1' ${CC:-cc} -x c -std=c11 -ffp-contract=off -Wall \
    -Wextra -Wno-unused-function -Werror -c -o "$tmp/object"
# Nothing else is ever launched; each costs a user's first run its time.
programs=0
for text in $texts; do
    programs=$((programs + $(kernel_list "$text" | grep -c '')))
done
tap_ok "$((programs > 600))" "$programs programs, 600 at most"
tap_done 2
