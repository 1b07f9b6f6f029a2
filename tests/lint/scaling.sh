#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scaling.sh - the tables of doc/scaling.md are what its program prints, in its
# order, and the program is of the formulas' constants: the code's.

. "${srcdir:-.}/tests/lint/tap.sh"

page=$srcdir/doc/scaling.md
${AWK:-awk} '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$page" \
    >"$tmp/page.c"
tap_run 'the program of the page compiles' $CC -std=c11 -Wall -Wextra \
    -Wpedantic -Werror $CFLAGS -I"$srcdir/include" -o "$tmp/page" \
    "$tmp/page.c" -lm
"$tmp/page" >"$tmp/printed"
grep -E '^\| [0-9.]+[MB] \|' "$page" | diff "$tmp/printed" - >"$tmp/out" 2>&1
tap_empty "$(grep -c '' "$tmp/printed") rows are what the program prints"
tap_ok "$(($(grep -c '' "$tmp/printed") < 12))" 'the tables have their rows'

# The limits of a slot, a header and a group.
sed -n 's/^#define INLINE_BYTES \([0-9]*\)$/V <= \1 |/p
    s/^#define HEADER_BYTES \([0-9]*\)$/ + \1 N + about/p' \
    "$srcdir/lib/comm/comm.h" >"$tmp/wanted"
sed -n 's/^#define SSQ_COMM_MAX_SIZE \([0-9]*\)$/**\1 ranks** are the most/p' \
    "$srcdir/include/sesqui/comm.h" >>"$tmp/wanted"
while IFS= read -r text; do
    grep -qF "$text" "$page" || echo "$text"
done <"$tmp/wanted" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/wanted") constants of the page are the code's"
tap_ok "$(($(grep -c '' "$tmp/wanted") != 3))" 'those of the code were found'
tap_done 5
