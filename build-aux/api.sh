#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# api.sh - print share/sesqui/api.json, the description of the public headers
# for programs that make bindings for other languages: doc/api.md.
#
# usage: sh build-aux/api.sh CC INCLUDE VERSION
#
# CC is a C compiler, INCLUDE the folder of the headers.
set -eu
LC_ALL=C
export LC_ALL
cc=$1 include=$2 version=$3
here=$(cd "$(dirname "$0")" && pwd) awk=${AWK:-awk}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086
preprocess() {
    $cc -std=c11 -E "$@" -D'__attribute__(x)=' -I.
}

AWK=$awk sh "$here/init.sh" list "$cc" "$include" >"$work/inits"
cd "$include"
find sesqui.h sesqui -name '*.h' | sort |
    sed 's/.*/#include <&>/' >"$work/all.c"
preprocess -dM "$work/all.c" |
    sed -n 's/^#define \(SSQ_[A-Z0-9_]*\) .*/\1/p' | sort >"$work/macros"
{
    cat "$work/all.c"
    $awk '{ print "@ \"" $2 "\" " $1 }' "$work/inits"
    grep -v '_INIT$' "$work/macros" | sed 's/.*/$ "&" &/'
} >"$work/each.c"
{
    preprocess -C "$work/all.c"
    echo @@
    preprocess -P "$work/each.c" | tr '\n' ' ' |
        sed 's/\([@$] "SSQ_\)/\n\1/g; s/\([@$] "ssq_\)/\n\1/g' |
        grep '^[@$] "'
    # shellcheck disable=SC2046
    $awk -f "$here/marks.awk" $(find sesqui -name '*.h' | sort) |
        $awk -F '\t' '{ print "% \"" $1 "\" \"" $2 "\" \"" $3 "\" \"" $5 "\"" }'
} | $awk -v version="$version" -f "$here/api.awk"
