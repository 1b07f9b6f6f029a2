#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rows.sh - every row of the tables of doc/coming-from.md is compiled and run.
#
# The rows that wait for autograd begin with "not yet:" and may only become
# fewer: whoever makes one true lowers the number below.

. "${srcdir:-.}/tests/lint/tap.sh"

not_yet_at_most=10

LD_LIBRARY_PATH=$builddir/.libs
export LD_LIBRARY_PATH

page=$srcdir/doc/coming-from.md
: >"$tmp/out"
{
    echo '#include "tests/lint/rows.h"'
    $AWK -v ERRORS="$tmp/out" -v COUNTS="$tmp/counts" \
        -f "$srcdir/tests/lint/rows.awk" "$page"
    echo 'int main(int argc, char **argv) {'
    echo 'return argc != 2 || rows_main(argv[1], rows, sizeof(rows) / sizeof(rows[0])); }'
} >"$tmp/rows.c"
tap_empty 'every row has code, or says "nothing:" or "not yet:"'
read -r rows nothing not_yet <"$tmp/counts"
tap_ok "$((rows < 90))" "the page has $rows rows"
tap_ok "$((nothing > 10))" "$nothing rows need nothing"
tap_ok "$((not_yet != not_yet_at_most))" \
    "$not_yet rows wait for autograd: $not_yet_at_most, and only ever fewer"
if tap_run "the rows compile" $CC -std=c11 -Wall -Wextra -Wpedantic -Werror \
    -Wno-missing-field-initializers -Wno-unused-function $CFLAGS \
    -I"$srcdir/include" -I"$srcdir" -o "$tmp/rows" "$tmp/rows.c" \
    -L"$builddir/.libs" -lsesqui -lm; then
    for d in reference guard; do
        "$tmp/rows" "$d" >"$tmp/out" 2>&1
        tap_empty "$rows rows run on $d"
    done
fi
tap_done 5
