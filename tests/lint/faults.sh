#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh - each fault of tests/mutants/faults.txt can still be made: its file
# exists, and its expression changes one line. A file that was moved, or a name
# that was changed, would otherwise lose the fault.

. "${srcdir:-.}/tests/lint/tap.sh"

# changes FILE: the lines "FILE EXPRESSION WHY" whose expression does not change
# exactly one line.
changes() {
    grep -v '^#' "$1" | while IFS='	' read -r file expression why; do
        [ -n "$file" ] || continue
        sed -E "$expression" "$srcdir/$file" >"$tmp/changed" 2>&1
        n=$(diff "$srcdir/$file" "$tmp/changed" | grep -c '^>')
        [ "$n" -eq 1 ] || echo "$file: $n lines: $why"
    done
}

n=$(grep -vc '^#' "$srcdir/tests/mutants/faults.txt")
tap_ok "$((n < 40))" "there are $n faults"
changes "$srcdir/tests/mutants/faults.txt" >"$tmp/out" 2>&1
tap_empty 'each changes one line of its file'
printf 'Makefile.am\ts/no such line/x/\tnothing\n' >"$tmp/wrong"
tap_ok "$(($(changes "$tmp/wrong" | grep -c '0 lines') - 1))" \
    'one that changes nothing is found'
tap_done 3
