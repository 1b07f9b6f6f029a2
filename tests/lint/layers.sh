#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh - includes and calls follow the table of layers in ARCHITECTURE.md,
# and the files and functions that it names exist.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/lint/objects.sh"

cd "$srcdir" || exit 1
plan=ARCHITECTURE.md

# The table's rows as "LAYER ALLOWED...".
sed -n 's/^| `\([a-z/]*\)` | \([a-z/ ]*\)|$/\1 \2/p' "$plan" >"$tmp/table"
tap_ok "$(($(grep -c '' "$tmp/table") < 15))" \
    "$plan has $(grep -c '' "$tmp/table") rows of the table of layers"

# A row may allow only rows above it: then no layers include each other.
out_of_order() {
    ${AWK:-awk} '{
        for (i = 2; i <= NF; i++)
            if (!($i in seen) && $i != "tests")
                print $1 " allows " $i ", which is not above it"
        seen[$1]
    }' "$1"
}
out_of_order "$tmp/table" >"$tmp/out"
tap_empty 'the rows are in order'
printf 'a\nb a\nc d\nd b\n' >"$tmp/wrong"
tap_ok "$(($(out_of_order "$tmp/wrong" | grep -c '') - 1))" \
    'a row that allows a later one is found'

# All includes, as "FILE HEADER", headers by their path from the top.
find kernels lib backends comms conformance include tools examples -type f \
    \( -name '*.[chk]' -o -name '*.comp' \) ! -name 'prebuilt*' \
    -exec grep -HoE '^#include ["<](sesqui|kernels|lib|backends|comms|conformance|tests|tools|examples)[/.][^">]*' {} + |
    sed 's/:#include ["<]/ /; s/ sesqui/ include\/sesqui/' >"$tmp/includes"
tap_ok "$(($(grep -c '' "$tmp/includes") < 900))" \
    "$(grep -c '' "$tmp/includes") lines include our headers"

# The layer of a file is the longest row that its path begins with. Generated
# files (kernels/kernel_source.h) count as kernels. A row must not allow
# includes that do not occur.
${AWK:-awk} '
    function layer(path) {
        if (path ~ /^(conformance|include|tests|tools|examples)\//)
            return substr(path, 1, index(path, "/") - 1)
        while (sub(/\/[^\/]*$/, "", path))
            if (path in rows)
                return path
    }
    FNR == NR {
        rows[$1]
        for (i = 2; i <= NF; i++)
            unused[$1 " " $i]
        next
    }
    $2 == "lib/backend_table.h" { next }
    {
        pair = layer($1) " " layer($2)
        if (layer($1) == layer($2))
            next
        if (pair in unused)
            used[pair]
        else
            print $1 " includes " $2
    }
    END {
        for (pair in unused)
            if (!(pair in used))
                print "nobody needs: " pair
    }' "$tmp/table" "$tmp/includes" >"$tmp/out"
tap_empty 'every layer includes what its row says, and no more'

# Circles of includes, in which a header and its .c are one file. circles.awk
# reads "FILE NAME TYPE".
includes() {
    sed 's/\.[a-z]* / /; s/\.[a-z]*$//' "$1" | ${AWK:-awk} '
        $1 != $2 { print $1, $1, "T"; print $2, $2, "T"; print $1, $2, "U" }' |
        sort -u | ${AWK:-awk} -f "$srcdir/tests/lint/circles.awk" |
        ${AWK:-awk} '/^circle/ { on = NF > 3 } on'
}
grep -v ' include/' "$tmp/includes" >"$tmp/ours"
includes "$tmp/ours" >"$tmp/out"
tap_empty 'no circle of includes has more than two files'
printf '%s\n' 'a.c b.h' 'b.c c.h' 'c.h a.h' 'd.c e.h' 'e.c d.h' >"$tmp/wrong"
tap_ok "$(($(includes "$tmp/wrong" | grep -c '^circle a b c$') - 1))" \
    'a circle of three files is found'

# Calls, as "CALLER CALLED SYMBOL", go up the table as includes do. Not what
# ARCHITECTURE.md says is declared below what it leads to.
calls() {
    ${AWK:-awk} '
        FNR == NR { row[$1] = FNR; next }
        function layer(path) {
            while (sub(/\/[^\/]*$/, "", path))
                if (path in row)
                    return path
        }
        $3 == "U" { need[$1, $2]; next }
        $3 != "w" && $3 != "v" { home[$2] = $1 }
        END {
            for (pair in need) {
                split(pair, p, SUBSEP)
                from = layer(p[1])
                to = p[2] in home ? layer(home[p[2]]) : ""
                if (from != "" && to != "" && row[to] > row[from] &&
                    p[2] !~ /^(plan_lists|term_kernels)$/ &&
                    p[2] !~ /^(reference|guard|cpu)_backend$/)
                    print p[1] " calls " p[2] " of " home[p[2]]
            }
        }' "$tmp/table" "$1" | sort
}
if [ -e "$builddir/libcore.a" ]; then
    symbols libcore >"$tmp/symbols"
    calls "$tmp/symbols" >"$tmp/out"
    tap_empty "$(grep -c ' U$' "$tmp/symbols") needs of objects go up the table"
    printf '%s\n' 'lib/core/base/a f U' 'lib/op/b f T' >"$tmp/wrong"
    tap_ok "$(($(calls "$tmp/wrong" | grep -c '') - 1))" \
        'a call down the table is found'
else
    tap_skip 'not built' 'needs of objects go up the table'
    tap_skip 'not built' 'a call down the table is found'
fi

# Names in backticks: files, functions with (), macros in capitals.
grep -oE '`[a-zA-Z0-9_/.-]+`' "$plan" | tr -d '`' | grep / | grep -v '/$' |
    sort -u >"$tmp/files"
while read -r f; do
    [ -e "$f" ] || echo "$f"
done <"$tmp/files" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/files") files of $plan exist"
grep -oE '`([a-z_0-9]+\(\)|[A-Z_]{4,})`' "$plan" | tr -d '`()' | sort -u \
    >"$tmp/names"
while read -r name; do
    grep -rqw -- "$name" lib kernels backends comms conformance tools \
        include ||
        echo "$name"
done <"$tmp/names" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/names") functions and macros of $plan exist"

# "`f()` in `file`", also "`f()` and `g()` in `file`", wherever the line breaks.
tr -s ' \n' ' ' <"$plan" |
    grep -oE '(`[a-z_0-9]+\(\)`( and |, )?)+ in `[a-zA-Z0-9_/.-]+`' |
    sed 's/`//g; s/ and / /g; s/,//g; s/()//g' >"$tmp/in_files"
while read -r line; do
    file=${line##* in }
    for name in ${line% in *}; do
        grep -qw -- "$name" "$file" || echo "$name is not in $file"
    done
done <"$tmp/in_files" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/in_files") functions are where $plan says"
tap_done 12
