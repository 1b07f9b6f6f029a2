#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack.sh - kernel sources as modules of a driver's language, packed for a
# backend.
#
# usage: pack.sh LANGUAGE text SRCDIR PACK KERNEL     one source, all variants
#        pack.sh LANGUAGE table SRCDIR SUMMED PACK...  the table of PACKs in a row
#        pack.sh LANGUAGE words SRCDIR SUMMED KERNEL   one module as a C array
#        pack.sh LANGUAGE same SRCDIR SUMMED TABLE     was it made from these files?
#        pack.sh sass device SRCDIR PTX ARCH PACK      PTX.pack as code of a GPU
#        pack.sh sass devices SRCDIR PACK...           the table of such PACKs
#
# LANGUAGE is spirv, for Vulkan, or ptx, for CUDA. A pack is gzip members, one
# per module; beside x.pack, x.table has a line for each variant in the order of
# embed.sh's list, and x.d what make must know. Each appears whole, by mv, and
# the pack last, whose age make goes by:
#
#     OFFSET BYTES SIZE kernels/elementwise/unary.k KIND=0 X=1
#
# BYTES are the member's, SIZE the module's. Variants that differ in keys which
# are constants have one SPIR-V module. The last line of x.table is the number of
# lines before it and the bytes of the pack. SUMMED are sources and headers, by
# their names below SRCDIR: the table keeps a sum of them. GLSLC, PTXCC, NVCC and
# AWK are the tools.
set -eu
LC_ALL=C
export LC_ALL
language=$1 what=$2 top=$3
shift 3

embed() {
    ${SHELL:-sh} "$top/kernels/embed.sh" "$1" "$top" "$2"
}

size() {
    wc -c <"$1" | tr -d ' '
}

# What each language is compiled with: KEYs as -D, the source, and -o FILE
# follow. Vulkan: 128 items are what every device can have in a group.
spirv() {
    ${GLSLC:-glslc} -O -std=450core -fshader-stage=compute \
        --target-env=vulkan1.1 -Werror -DONE_VARIANT -DWG=128 -DWIDTH=4 \
        "-I$top" "$@"
}

# CUDA: PTX of the lowest level that has the instructions, so that every driver
# takes it, no matter which toolkit is installed; no contraction and no toolkit.
# A source with a key LEVEL has instructions of that compute capability.
ptx() {
    case " $* " in
    *' -DLEVEL=75 '*) version=65 level=75 ;;
    *' -DLEVEL=80 '*) version=70 level=80 ;;
    *) version=60 level=70 ;;
    esac
    ${PTXCC:-clang} -x cuda -nocudainc -nocudalib --cuda-device-only \
        --cuda-gpu-arch=sm_$level \
        -Xclang -target-feature -Xclang +ptx$version \
        -Wno-unknown-cuda-version -O3 -ffp-contract=off -Wall -Wextra \
        -Wno-unused-function -Werror -S -DONE_VARIANT -DWG=256 -DWIDTH=4 \
        "-I$top" "$@"
}

# Machine code of a GPU: of the PTX that ships, by the toolkit's assembler, so
# that what was proved of the one holds of the other.
sass() {
    ${NVCC:-nvcc} -cubin "-arch=sm_$arch" "$@"
}

# Print the compiler's messages; fail if there are any, or if it failed. $1: what
# it compiled.
silent() {
    [ "$said" = 0 ] && ! [ -s "$pack.said" ] && return
    echo "$1" | cat - "$pack.said" >&2
    return 1
}

# The file of a variant's module, less its suffix: KEY=VALUE,KEY=VALUE.
name() {
    echo "$pack.parts/$(echo "${*:-only}" | tr ' ' ,)"
}

# Compile the modules of source $1, $(name KEY=VALUE...).out, and write to
# $pack.list a line for each variant, and to $pack.modules one for its module.
# glslc starts more slowly than it compiles a variant, so one call gets all
# modules of a source: each is a file that defines its keys and includes the
# source.
modules_spirv() {
    embed list "$1" >"$pack.list"
    embed modules "$1" >"$pack.modules"
    while read -r file keys; do
        for pair in $keys; do
            echo "#define ${pair%%=*} ${pair#*=}"
        done >"$(name $keys).comp"
        echo "#include \"$file\"" >>"$(name $keys).comp"
    done <"$pack.modules"
    said=0
    case $top in /*) ;; *) top=$PWD/$top ;; esac
    (cd "$pack.parts" && spirv -c ./*.comp) >"$pack.said" 2>&1 || said=$?
    silent "$file" || return 1
    for module in "$pack.parts"/*.comp.spv; do
        mv "$module" "${module%.comp.spv}.out"
    done
}

modules_ptx() {
    embed list "$1" >"$pack.list"
    cp "$pack.list" "$pack.modules"
    while read -r file keys; do
        set --
        for pair in $keys; do set -- "$@" "-D$pair"; done
        said=0
        ptx "$@" -o "$(name $keys).out" "$top/$file" >"$pack.said" 2>&1 ||
            said=$?
        silent "$file $keys" || return 1
    done <"$pack.list"
}

# The pack's modules in a row, and the table's lines to 3: a module of several
# variants appears once.
members() {
    while read -r file keys <&4; do
        module=$(name $keys).out.gz
        read -r variant <&5
        if [ -f "$module.at" ]; then
            read -r from <"$module.at"
        else
            from=$at
            echo "$from" >"$module.at"
            cat "$module"
        fi
        bytes=$(size "$module")
        [ "$from" != "$at" ] || at=$((at + bytes))
        # the last four bytes of a member are the module's size
        full=$(tail -c 4 "$module" | od -An -t u4 | tr -d " ")
        echo "$from $bytes $full $variant" >&3
        lines=$((lines + 1))
    done 4<"$pack.modules" 5<"$pack.list"
    echo "$lines $at" >&3
}

text() {
    pack=$1 base=${1%.pack} at=0 lines=0
    rm -rf "$pack.parts"
    mkdir "$pack.parts"
    trap 'rm -rf "$pack".said "$pack".list "$pack".modules "$pack".new \
        "$pack".parts "$base".table.new "$base".d.new' EXIT
    trap 'exit 1' HUP INT TERM # a shell that a signal ends skips EXIT
    "modules_$language" "$2"
    gzip -9 -n "$pack.parts"/*.out
    members >"$pack.new" 3>"$base.table.new"
    # a header that is gone later is no error
    embed files "$2" | sed "s|.*|$pack: $top/&\n$top/&:|" >"$base.d.new"
    mv "$base.table.new" "$base.table"
    mv "$base.d.new" "$base.d"
    mv "$pack.new" "$pack"
}

# listed TABLE: of each module of a table, where it is, its bytes and its name.
listed() {
    sed -n 's|^ *{\([0-9]*\), \([0-9]*\), [0-9]*}, /\* \(.*\) \*/$|\1 \2 \3|p' "$1"
}

device() {
    ptx=$1 arch=$2 pack=$3 base=${3%.pack} at=0 lines=0
    trap 'rm -f "$pack".ptx "$pack".out "$pack".said "$pack".gz "$pack".list \
        "$pack".new "$base".table.new' EXIT
    trap 'exit 1' HUP INT TERM
    listed "${ptx}_table.h" >"$pack.list"
    while read -r from bytes variant; do
        tail -c "+$((from + 1))" "$ptx.pack" | head -c "$bytes" |
            gzip -dc >"$pack.ptx"
        # what wants a newer GPU is never loaded on this one: it has no code
        level=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$pack.ptx")
        : >"$pack.out"
        [ "$level" -gt "${arch%[a-z]}" ] ||
            sass -o "$pack.out" "$pack.ptx" >"$pack.said" 2>&1 || {
            echo "sm_$arch: $variant" | cat - "$pack.said" >&2
            exit 1
        }
        gzip -9 -n -c "$pack.out" >"$pack.gz"
        bytes=$(size "$pack.gz")
        echo "$at $bytes $(size "$pack.out") $variant"
        at=$((at + bytes)) lines=$((lines + 1))
        cat "$pack.gz" >&3
    done <"$pack.list" >"$base.table.new" 3>"$pack.new"
    echo "$lines $at" >>"$base.table.new"
    mv "$base.table.new" "$base.table"
    mv "$pack.new" "$pack"
}

# Which GPUs, and the modules of one after the other's; a 0 ends either.
devices() {
    for pack; do
        matches "$pack"
    done
    echo '/* sass_table.h - made by pack.sh: do not edit. */'
    echo "#define SASS_SUM \"$(cat "$@" /dev/null | cksum)\""
    echo 'static const uint32_t sass_archs[] = {'
    for pack; do echo "    $(basename "$pack" .pack),"; done
    echo '    0};'
    echo 'static const struct packed_module sass_modules[] = {'
    for pack; do cat "${pack%.pack}.table"; done | ${AWK:-awk} '
    NF == 2 {
        at += $2
        next
    }
    { print "    {" at + $1 ", " $2 ", " $3 "}," }'
    echo '    {0, 0, 0}};'
}

sum() {
    (cd "$top" && cat $summed | cksum)
}

# matches PACK: is its table complete, and one of as many bytes? If not make shall
# do it again.
matches() {
    said=$(${AWK:-awk} 'NF == 2 && $1 == NR - 1 { n = $2 } END { print n + 0 }' \
        "${1%.pack}.table")
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
    echo "/* ${language}_table.h - made by pack.sh: do not edit. */"
    echo "/* sum: $(sum) */"
    echo "#define MODULES_SUM \"$(cat "$@" | cksum)\""
    for pack; do echo "${pack%.pack}.table"; done | xargs ${AWK:-awk} '
        NF == 2 {
            at += $2
            next
        }
        FNR == 1 {
            name = $4
            gsub(/.*\/|\.[a-z]+$/, "", name)
            first = first "    [KERNEL_" name "] = " n + 1 ",\n"
        }
        {
            what = $4
            for (i = 5; i <= NF; i++)
                what = what " " $i
            lines = lines "    {" at + $1 ", " $2 ", " $3 "}, /* " what " */\n"
            n++
        }
        END {
            print "static const uint32_t first_module[] = {\n" first "};\n"
            print "static const struct packed_module modules[] = {\n" lines "};"
        }'
}

same() {
    grep -qxF "/* sum: $(sum) */" "$1" || {
        echo "$1: made from other kernels than those in $top/kernels;" \
            'with the compiler, configure --with-prebuilt=no makes it again' >&2
        exit 1
    }
}

# A module as the initialiser of a C array.
words() {
    echo "/* coopmat_spv.h - made by pack.sh: do not edit. */"
    echo "/* sum: $(sum) */"
    "$language" -mfmt=c -o - "$top/$1"
}

case $what in
text) text "$@" ;;
device) device "$@" ;;
devices) devices "$@" ;;
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
*) echo "pack.sh: what is $what?" >&2; exit 2 ;;
esac
