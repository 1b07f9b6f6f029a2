#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rows.sh - every row of the tables of doc/coming-from/ is compiled and run, and
# all documented behaviour of the other systems has a row.
#
# Each page is its own program: rows.awk makes a function of each row,
# rows.h is what surrounds them. rows/PAGE.txt has the effects that are checked,
# and rows.txt lists what the systems document.

. "${srcdir:-.}/tests/lint/tap.sh"

LD_LIBRARY_PATH=$builddir/.libs
export LD_LIBRARY_PATH

# Functions that return nothing, macros of the same without their _at.
grep -rhoE '^SSQ_API void ssq_[a-z0-9_]+' "$srcdir/include" |
    sed 's/.* //; p; s/_at$//' | sort -u >"$tmp/voids"

# page FILE: its program, and its rows, one case each and device.
page() {
    title=doc/coming-from/${1##*/}
    : >"$tmp/out"
    : >"$tmp/cells"
    {
        echo '#include "tests/lint/rows.h"'
        $AWK -v PAGE="$title" -v VOIDS="$tmp/voids" -v CELLS="$tmp/cells" \
            -v CHECKS="$srcdir/tests/lint/rows/$(basename "$1" .md).txt" \
            -v ERRORS="$tmp/out" -v COUNTS="$tmp/counts" \
            -f "$srcdir/tests/lint/rows.awk" "$1"
        echo 'int main(int argc, char **argv) {'
        echo 'return argc != 2 || rows_main(argv[1], rows,'
        echo 'sizeof(rows) / sizeof(rows[0])); }'
    } >"$tmp/rows.c"
    read -r rows nothing checks <"$tmp/counts"
    [ "$rows" -gt 0 ] || return
    sed "s|^|${1##*/} |" "$tmp/cells" >>"$tmp/all"
    tap_empty "$title: $rows rows have code, $checks effects are looked at, $nothing say \"nothing:\""
    tap_run "$title: the rows compile" $CC -std=c11 -Wall -Wextra -Wpedantic \
        -Werror -Wno-missing-field-initializers -Wno-unused-function $CFLAGS \
        -I"$srcdir/include" -I"$srcdir" -o "$tmp/rows" "$tmp/rows.c" \
        -L"$builddir/.libs" -lsesqui -lm || return
    for d in reference guard; do
        "$tmp/rows" $d >"$tmp/results" 2>"$tmp/err"
        while read -r status name; do
            tap_ok "$status" "$title, $name, on $d"
        done <"$tmp/results"
        sed 's/^/#   /' "$tmp/err"
        tap_ok "$(($(grep -c '' "$tmp/results") != rows))" \
            "$title: $rows rows ran on $d"
    done
}

: >"$tmp/all"
for f in "$srcdir"/doc/coming-from/*.md; do
    page "$f"
done

# A row occurs once, on any page.
sed 's/^[^ ]* //' "$tmp/all" | LC_ALL=C sort | LC_ALL=C uniq -d >"$tmp/out"
tap_empty 'no row stands twice'

# What the systems document: lines "PAGE TEXT", the text being in the first
# column of a row of the page.
grep -v '^#' "$srcdir/tests/lint/rows.txt" | while read -r f text; do
    grep "^$f " "$tmp/all" | grep -qF -e "$text" || echo "$f: no row for $text"
done >"$tmp/out"
tap_empty "$(grep -vc '^#' "$srcdir/tests/lint/rows.txt") documented names have a row"
tap_done 400
