#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lines.sh - the counts of lines in doc/lines.md are right: functions of the
# examples, and the parts of the texts beside them, in the order of the table.

. "${srcdir:-.}/tests/lint/tap.sh"

page=$srcdir/doc/lines.md

# of_function FILE NAME: its lines without comments and blank ones.
of_function() {
    ${AWK:-awk} -v f="$2" '
        !on && $0 ~ "^[a-z].*[ *]" f "\\(" && !/;$/ { on = 1 }
        on {
            if (comment || /^[ \t]*\/\*/)
                comment = !/\*\//
            else if (NF)
                n++
        }
        on && /^}/ { exit }
        END { print n + 0 }' "$srcdir/$1"
}

# Ours: "PART|FILE|FUNCTIONS|LINES|THERE".
${AWK:-awk} -F ' *[|] *' '$4 ~ /^`examples/ {
    split($4, where, "`: ")
    print $3 "|" substr(where[1], 2) "|" where[2] "|" $5 "|" $6
}' "$page" >"$tmp/rows"
while IFS='|' read -r part file functions lines there; do
    n=0
    for f in $functions; do
        n=$((n + $(of_function "$file" "$f")))
    done
    [ "$n" -eq "$lines" ] ||
        echo "$file: $functions: $n lines, the page says $lines"
done <"$tmp/rows" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/rows") rows of ours are so long"

# Theirs: parts begin with a comment at the margin.
${AWK:-awk} '
    /^```python/ { on = 1; next }
    /^```/ { if (on) { print n; on = n = 0; begun = 0 } next }
    on && /^# / { if (begun) print n; n = 0; begun = 1; next }
    on && NF { n++ }' "$page" >"$tmp/theirs"
cut -d '|' -f 5 "$tmp/rows" | diff - "$tmp/theirs" >"$tmp/out" 2>&1
tap_empty "$(grep -c '' "$tmp/theirs") parts of theirs are so long"
[ "$(grep -c '' "$tmp/rows")" -ge 12 ]
tap_ok $? 'the table has its rows'
tap_done 3
