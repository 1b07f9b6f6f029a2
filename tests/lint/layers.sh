#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh - the house is as ARCHITECTURE.md says: who includes whom, and the
# files and functions that it names.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
plan=ARCHITECTURE.md

# The table's rows as "FLOOR ALLOWED...".
sed -n 's/^| `\([a-z/]*\)` | \([a-z/ ]*\)|$/\1 \2/p' "$plan" >"$tmp/table"
tap_ok "$(($(grep -c '' "$tmp/table") < 15))" \
    "$plan has $(grep -c '' "$tmp/table") rows of who may include whom"

# What is included, as "FILE HEADER", headers by their path from the top.
find kernels lib backends comms include tools examples -type f \
    \( -name '*.[chk]' -o -name '*.comp' \) ! -name 'prebuilt*' \
    -exec grep -HoE '^#include ["<](sesqui|kernels|lib|backends|comms|tests|tools|examples)[/.][^">]*' {} + |
    sed 's/:#include ["<]/ /; s/ sesqui/ include\/sesqui/' >"$tmp/includes"
tap_ok "$(($(grep -c '' "$tmp/includes") < 900))" \
    "$(grep -c '' "$tmp/includes") lines include our headers"

# The floor of a file is the longest row that its path begins with. What make
# makes (kernels/kernel_text.h) counts as kernels. A row that allows what nobody
# does is a wish.
${AWK:-awk} '
    function floor(path) {
        if (path ~ /^(include|tests|tools|examples)\//)
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
        pair = floor($1) " " floor($2)
        if (floor($1) == floor($2))
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
tap_empty 'every floor includes what its row says, and no more'

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
    grep -rqw -- "$name" lib kernels backends comms include || echo "$name"
done <"$tmp/names" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/names") functions and macros of $plan exist"
tap_done 5
