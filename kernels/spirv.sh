#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spirv.sh - kernel texts as SPIR-V modules, packed for the Vulkan backend.
#
# usage: spirv.sh text SRCDIR PACK KERNEL        one text, in all its variants
#        spirv.sh table SRCDIR SUMMED PACK...    the table of PACKs in a row
#        spirv.sh words SRCDIR SUMMED KERNEL    one module as a C array
#        spirv.sh same SRCDIR SUMMED TABLE       was it made from these files?
#
# A pack is gzip members, one per variant in the order of embed.sh's list;
# beside x.pack, x.table has a line for each, and x.d what make must know. Each
# appears whole, by mv, and the pack last, whose age make goes by:
#
#     OFFSET BYTES WORDS kernels/elementwise/unary.k KIND=0 X=1
#
# BYTES are the member's, WORDS the module's. SUMMED are texts and headers, by
# their names below SRCDIR: the table keeps a sum of them. GLSLC and AWK are
# the tools. 128 items are what every device can have in a group.
set -eu
LC_ALL=C
export LC_ALL
what=$1 top=$2
shift 2

embed() {
    ${SHELL:-sh} "$top/kernels/embed.sh" "$1" "$top" "$2"
}

size() {
    wc -c <"$1" | tr -d ' '
}

# compile TEXT KEY=VALUE...: to $pack.spv; any message is a failure.
compile() {
    variant=$*
    file=$1
    shift
    for pair; do
        shift
        set -- "$@" "-D$pair"
    done
    ${GLSLC:-glslc} -O -std=450core -fshader-stage=compute \
        --target-env=vulkan1.1 -Werror -DWG=128 -DWIDTH=4 "$@" "-I$top" \
        -o "$pack.spv" "$top/$file" >"$pack.said" 2>&1 &&
        ! [ -s "$pack.said" ] || {
        echo "$variant" | cat - "$pack.said" >&2
        return 1
    }
}

text() {
    pack=$1 base=${1%.pack} at=0
    trap 'rm -f "$pack".spv "$pack".said "$pack".gz "$pack".list \
        "$pack".new "$base".table.new "$base".d.new' EXIT
    trap 'exit 1' HUP INT TERM # a shell that a signal ends skips EXIT
    embed list "$2" >"$pack.list"
    while read -r variant; do
        compile $variant
        gzip -9 -n -c "$pack.spv" >"$pack.gz"
        bytes=$(size "$pack.gz")
        echo "$at $bytes $(($(size "$pack.spv") / 4)) $variant" >&3
        at=$((at + bytes))
        cat "$pack.gz"
    done <"$pack.list" >"$pack.new" 3>"$base.table.new"
    # a header that is gone later is no error
    embed files "$2" | sed "s|.*|$pack: $top/&\n$top/&:|" >"$base.d.new"
    mv "$base.table.new" "$base.table"
    mv "$base.d.new" "$base.d"
    mv "$pack.new" "$pack"
}

sum() {
    (cd "$top" && cat $summed | cksum)
}

# matches PACK: is its table one of as many bytes? If not make shall do it again.
matches() {
    said=$(${AWK:-awk} '{ n += $2 } END { print n + 0 }' "${1%.pack}.table")
    [ "$said" = "$(size "$1")" ] && return
    echo "${1%.pack}.table: of $said bytes, $1 has $(size "$1"): it is" \
        'removed, make it again' >&2
    rm -f "$1"
    return 1
}

table() {
    for pack; do
        matches "$pack"
    done
    echo '/* spirv_table.h - made by spirv.sh: do not edit. */'
    echo "/* sum: $(sum) */"
    echo "#define SPIRV_SUM \"$(cat "$@" | cksum)\""
    for pack; do echo "${pack%.pack}.table"; done | xargs ${AWK:-awk} '
        FNR == 1 {
            name = $4
            gsub(/.*\/|\.k$/, "", name)
            first = first "    [KERNEL_" name "] = " NR - 1 ",\n"
        }
        {
            what = $4
            for (i = 5; i <= NF; i++)
                what = what " " $i
            lines = lines "    {" at + 0 ", " $2 ", " $3 "}, /* " what " */\n"
            at += $2
        }
        END {
            print "static const uint32_t first_module[] = {\n" first "};\n"
            print "static const struct spirv_module modules[] = {\n" lines "};"
        }'
}

same() {
    grep -qxF "/* sum: $(sum) */" "$1" || {
        echo "$1: made from other kernels than those in $top/kernels;" \
            'with glslc, configure --with-prebuilt=no makes it again' >&2
        exit 1
    }
}

# A module as the initialiser of a C array.
words() {
    echo "/* coopmat_spv.h - made by spirv.sh: do not edit. */"
    echo "/* sum: $(sum) */"
    ${GLSLC:-glslc} -O -std=450core -fshader-stage=compute -mfmt=c \
        --target-env=vulkan1.1 -Werror -DWG=128 -DWIDTH=4 "-I$top" -o - \
        "$top/$1"
}

case $what in
text) text "$@" ;;
table)
    summed=$1
    shift
    table "$@"
    ;;
same)
    summed=$1
    shift
    same "$@"
    ;;
words)
    summed=$1
    shift
    words "$@"
    ;;
*) echo "spirv.sh: what is $what?" >&2; exit 2 ;;
esac
