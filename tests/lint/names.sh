#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh - a function, or a struct, has a name that no other file uses for
# another one: a stack trace or a search then leads to one place.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
find lib backends comms conformance tools -name '*.[ch]' \
    ! -name 'prebuilt*' | sort >"$tmp/files"

# Functions as "NAME FILE": a definition begins at the left edge, and { follows
# before ;.
functions() {
    # shellcheck disable=SC2046
    ${AWK:-awk} '
        /^[a-z].*\(/ && !/^(typedef|struct|union|enum)[^(]*\{/ {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
        }
        /^[a-z]/ && !/\(/ { name = "" }
        /;/ { name = "" }
        /^\{/ && name != "" { print name, FILENAME; name = "" }' \
        $(cat "$1") | sort -u
}

# Structs as "NAME FILE".
structs() {
    # shellcheck disable=SC2046
    ${AWK:-awk} '/^struct [a-z0-9_]+ \{/ { print $2, FILENAME }' $(cat "$1") |
        sort -u
}

# The lines of $1 whose first word occurs in several of them.
shared() {
    ${AWK:-awk} '
        { n[$1]++; line[$1] = line[$1] "\n" $0 }
        END { for (name in n) if (n[name] > 1) print substr(line[name], 2) }
    ' "$1"
}

functions "$tmp/files" >"$tmp/functions"
n=$(grep -c '' "$tmp/functions")
tap_ok "$((n < 4000))" "$n functions are defined"
shared "$tmp/functions" >"$tmp/out"
k=$(grep -c '' "$tmp/out")
tap_ok "$((k * 100 > n * 2))" \
    "$k functions of $n share their name, at most 2 in 100" ||
    sort "$tmp/out" | sed 's/^/#   /' | head -n 40

# Each backend and transport defines those itself, and so does a stand-in.
structs_shared() {
    structs "$1" | grep -vE '^(backend_[a-z]+|comm_link|ssq_[a-z_]+) ' \
        >"$tmp/structs"
    shared "$tmp/structs" >"$tmp/out"
}
structs_shared "$tmp/files"
n=$(grep -c '' "$tmp/structs")
tap_ok "$((n < 500))" "$n structs are defined"
tap_empty 'no struct has the name of another'

# The rest of the tree: a test may call a function as another test does, but
# structs differ there too.
find bench examples kernels tests -name '*.[chk]' ! -name 'prebuilt*' |
    sort - "$tmp/files" >"$tmp/tree"
functions "$tmp/tree" >"$tmp/functions"
n=$(cut -d ' ' -f 1 "$tmp/functions" | sort -u | grep -c '')
shared "$tmp/functions" | cut -d ' ' -f 1 | sort -u >"$tmp/out"
k=$(grep -c '' "$tmp/out")
tap_ok "$((k * 100 > n * 8))" \
    "$k names of $n in the whole tree are those of several functions, at most 8 in 100"
structs_shared "$tmp/tree"
tap_empty 'no struct has the name of another in the whole tree'

printf '%s\n' 'static int twice(void)' '{' '}' >"$tmp/a.c"
printf '%s\n' 'int twice(int a,' '          int b)' '{' '}' 'int twice(int);' \
    'int once(void)' '{' '}' >"$tmp/b.c"
printf '%s\n' "$tmp/a.c" "$tmp/b.c" >"$tmp/two"
functions "$tmp/two" >"$tmp/wrong"
tap_ok "$(($(shared "$tmp/wrong" | grep -c '') - 2))" \
    'a name in two files is found'
tap_done 7
