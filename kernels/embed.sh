#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# embed.sh - C tables from kernel sources: names, keys, variants and contents.
#
# usage: embed.sh table.h|table.c|source.h|source.c|list|modules|files \
#            SRCDIR KERNEL...
#
# list prints every variant as one line: the source's path, then KEY=VALUE...
# modules prints the same lines as Vulkan has them, where a key may be a constant
# of a pipeline. files prints what a source includes, and itself.
#
# A source's first comment names its keys and lists its variants, each line a
# product of one list per key: numbers, ranges (0-9), names of dtypes, and what
# a header beside the source lists by lines of NAME(NUMBER, ... What is not made
# is named before them, by numbers. So are keys that are constants of a pipeline
# on Vulkan: either all values of one, or those after the =. In the one module of
# these, key number I is CONSTANT_I.
#
# native: -O2 is for native.sh of the cpu backend, which says when.
#
#     native: -O2
#     keys: KIND X
#     kinds: unary_kinds.h
#     without: 7 3
#     constants: X=f16,bf16
#     variants: BOTH,FORWARD,99 f16,bf16,u8
set -eu
what=$1 top=$2
shift 2

names() {
    for k; do basename "$k" .k; done
}

table_h() {
    cat <<'END'
/* kernel_table.h - made by embed.sh: do not edit. */
#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

#include "lib/core/module/launch.h"

enum kernel_id {
END
    names "$@" | sed 's/.*/    KERNEL_&,/'
    cat <<'END'
    KERNEL_COUNT
};

extern const struct kernel kernels[KERNEL_COUNT];

#endif
END
}

# The variants of one source as initialisers, one per line. With modules=1, as
# their modules have them.
variants() {
    awk -v modules="${2:-0}" '
    # The numbers of the lines NAME(NUMBER, of a list, by NAME.
    function read_kinds(file,    line, of) {
        while ((getline line <file) > 0)
            if (match(line, /^ +[A-Z]+\([0-9]+,/)) {
                line = substr(line, 1, RLENGTH - 1)
                gsub(/ /, "", line)
                split(line, of, "(")
                kinds[of[1]] = kinds[of[1]] " " of[2]
            }
        close(file)
    }
    function number(s) {
        if (s in dtype)
            return dtype[s]
        if (s !~ /^[0-9]+$/ || s > 255) {
            print FILENAME ": not a value: " s >"/dev/stderr"
            exit 1
        }
        return s
    }
    # One value of key `at`, then the keys after it.
    function put(at, row, made, value) {
        if (at > 1) {
            row = row ", "
            made = made ", "
        }
        if ((key[at], value) in constant || (key[at], "all") in constant)
            made = made "CONSTANT_" at - 1
        else
            made = made value
        expand(at + 1, row value, made)
    }
    function expand(at, row, made,    n, list, i, r, m, v, of) {
        if (at > keys) {
            if (!(row in without))
                print "    {" (modules ? made : row) "},"
            return
        }
        n = split(field[at], list, ",")
        for (i = 1; i <= n; i++)
            if (list[i] ~ /^[0-9]+-[0-9]+$/) {
                split(list[i], r, "-")
                for (v = r[1] + 0; v <= r[2]; v++)
                    put(at, row, made, v)
            } else if (list[i] in kinds) {
                m = split(kinds[list[i]], of, " ")
                for (v = 1; v <= m; v++)
                    put(at, row, made, number(of[v]))
            } else {
                put(at, row, made, number(list[i]))
            }
    }
    BEGIN {
        n = split("f32 f16 bf16 i32 u8", names, " ")
        for (i = 1; i <= n; i++)
            dtype[names[i]] = i
    }
    { gsub(/\*\/|^ \*/, "") }
    $1 == "keys:" {
        keys = NF - 1
        for (f = 1; f <= keys; f++)
            key[f] = $(f + 1)
    }
    $1 == "constants:" {
        for (f = 2; f <= NF; f++) {
            split($f, of, "=")
            n = split(of[2] == "" ? "all" : of[2], list, ",")
            for (i = 1; i <= n; i++)
                constant[of[1], list[i] in dtype ? dtype[list[i]] : list[i]] = 1
        }
    }
    $1 == "kinds:" {
        dir = FILENAME
        sub(/[^\/]*$/, "", dir)
        read_kinds(dir $2)
    }
    $1 == "without:" {
        gsub(/^ *without: */, "")
        gsub(/ +$/, "")
        gsub(/ +/, ", ")
        without[$0] = 1
    }
    $1 == "variants:" {
        if (NF - 1 != keys) {
            print FILENAME ": a variant has " keys " keys: " $0 >"/dev/stderr"
            exit 1
        }
        for (f = 2; f <= NF; f++)
            field[f - 1] = $f
        expand(1, "", "")
        found = 1
    }
    /^#/ { exit }
    END { if (!found && keys == 0) print "    {0}," }' "$1"
}

keys() {
    sed -n 's/^ \* keys: *//p' "$1" | sed 's|\*/||'
}

table_c() {
    echo '/* kernel_table.c - made by embed.sh: do not edit. */'
    echo '#include "kernel_table.h"'
    for k; do
        echo
        echo "static const uint8_t variants_$(names "$k")[][LAUNCH_KEYS] = {"
        variants "$top/$k"
        echo '};'
    done
    echo
    echo 'const struct kernel kernels[KERNEL_COUNT] = {'
    for k; do
        n=$(names "$k")
        set -- $(keys "$top/$k")
        echo "    {\"$n\", KERNEL_$n, $#, {"
        for key; do echo "         \"$key\","; done
        [ $# -gt 0 ] || echo '         NULL,'
        echo "     }, sizeof(variants_$n) / sizeof(variants_$n[0]), variants_$n},"
    done
    echo '};'
}

source_h() {
    cat <<'END'
/* kernel_source.h - made by embed.sh: do not edit. */
#ifndef KERNEL_SOURCE_H
#define KERNEL_SOURCE_H

#include <stdint.h>

/** A kernel's source in pieces: its headers in order, then itself. */
struct kernel_source {
    uint32_t n;
    const char *const *piece;
};

/** By enum kernel_id. */
extern const struct kernel_source kernel_sources[];

#endif
END
}

# Files that a file includes, innermost first, each once, itself last. An
# include with quotes is relative to the top or to the including file.
files() {
    awk -v top="$top" '
    function visit(file,    line, name, dir) {
        if (file in seen)
            return
        seen[file] = 1
        while ((getline line <(top "/" file)) > 0)
            if (line ~ /^#include "/) {
                name = line
                gsub(/^#include "|".*$/, "", name)
                dir = file
                sub(/[^\/]*$/, "", dir)
                visit(name ~ /^kernels\// ? name : dir name)
            }
        close(top "/" file)
        print file
    }
    BEGIN { visit(ARGV[1]) }' "$1"
}

symbol() {
    echo "$1" | tr -c 'A-Za-z0-9\n' '_'
}

# The bytes of a source without comments, empty lines and quoted includes.
bytes() {
    awk '
    {
        line = $0 "\n"
        out = ""
        while (line != "")
            if (inside) {
                at = index(line, "*/")
                if (at == 0) {
                    line = ""
                } else {
                    line = substr(line, at + 2)
                    inside = 0
                }
            } else {
                at = index(line, "/*")
                if (at == 0) {
                    out = out line
                    line = ""
                } else {
                    out = out substr(line, 1, at - 1) " "
                    line = substr(line, at + 2)
                    inside = 1
                }
            }
        if (out ~ /^#include "/ || out ~ /^[ \t\n]*$/)
            next
        printf "%s", out ~ /\n$/ ? out : out "\n"
    }' "$top/$1" | od -An -v -tu1 | sed 's/  *\([0-9]\)/\1/;s/  */,/g;s/$/,/'
}

source_c() {
    echo '/* kernel_source.c - made by embed.sh: do not edit. */'
    echo '#include "kernel_source.h"'
    for f in $(for k; do files "$k"; done | awk '!seen[$0]++'); do
        echo
        echo "static const char $(symbol "$f")[] = {"
        bytes "$f"
        echo '0};'
    done
    for k; do
        echo
        echo "static const char *const pieces_$(names "$k")[] = {"
        for f in $(files "$k"); do echo "    $(symbol "$f"),"; done
        echo '};'
    done
    echo
    echo 'const struct kernel_source kernel_sources[] = {'
    for k in $(names "$@"); do
        echo "    {sizeof(pieces_$k) / sizeof(pieces_$k[0]), pieces_$k},"
    done
    echo '};'
}

# list MODULES KERNEL...
list() {
    modules=$1
    shift
    for k; do
        variants "$top/$k" "$modules" | tr -d '{},' |
            awk -v source="$k" -v keys="$(keys "$top/$k")" '{
                n = split(keys, key, " ")
                line = source
                for (i = 1; i <= n; i++)
                    line = line " " key[i] "=" $i
                print line
            }'
    done
}

case $what in
table.h) table_h "$@" ;;
table.c) table_c "$@" ;;
source.h) source_h ;;
source.c) source_c "$@" ;;
files) for k; do files "$k"; done ;;
list) list 0 "$@" ;;
modules) list 1 "$@" ;;
*) echo "embed.sh: what is $what?" >&2; exit 2 ;;
esac
