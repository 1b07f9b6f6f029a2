#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# native.sh - a kernel's source as C, compiled in all variants for each set of
# instructions of ISAS, as one object with a table of them.
#
# usage: native.sh text SRCDIR DEPS FLAG... -c TEXT -o OBJECT
#        native.sh headers SRCDIR DEPS FLAG... -c HEADER -o FILE
#        native.sh table SRCDIR TEXT...       C: the tables of sources, by id;
#                                             if ONLY is set, others are NULL
# If VARIANTS is set, for example to "KIND=1", text compiles only variants with
# such a key; the table has NULL for the others.
#
# Keys are macros, so each variant is preprocessed by itself. Variants that
# differ only in their kernel's function are compiled as one unit. A small
# function has many callers there, and gcc would not inline it into their loops:
# the functions of variants have the attribute flatten. The units are linked
# into one object, which exports native_NAME_ISA, an array of struct
# backend_kernel. CC and AWK are the tools; DEPS is for make.
#
# headers precompiles the system's headers once for each set of instructions, as
# PRE/ISA.h.gch: gcc takes half a second to read <immintrin.h>, and would for
# each of a hundred units. Units are compiled with it if PRE is set.
set -eu
LC_ALL=C
export LC_ALL
what=$1 top=$2 pre=${PRE-}
shift 2

# Instructions and the width of their vectors. Every kernel is exact: nothing
# is contracted, and no compiler is told that NaNs, signs of zero or the order
# of sums do not matter. No one reads errno or the flags of exceptions.
isa_flags() {
    case $1 in
    plain) echo "-DWIDTH=4 $quick" ;;
    avx2) echo "-DWIDTH=8 -mavx2 -mfma -mf16c $vectors" ;;
    avx512)
        echo '-DWIDTH=16 -mavx2 -mfma -mf16c -mavx512f -mavx512bw' \
            '-mavx512cd -mavx512dq -mavx512vl' \
            "-mprefer-vector-width=512 $vectors"
        ;;
    esac
}

# row TEXT: the name of a source's variants, or NULL if ONLY leaves it out.
row() {
    case " ${ONLY-$1} " in
    *" $1 "*) echo "native_$(basename "$1" .k)_$isa" ;;
    *) echo NULL ;;
    esac
}

table() {
    echo '/* made by native.sh: do not edit. */'
    echo '#include "backends/cpu/kernel.h"'
    echo '#include <stddef.h>'
    for isa in $ISAS; do
        for k in ${ONLY-"$@"}; do
            echo "extern const struct backend_kernel $(row "$k")[];"
        done
        echo "extern const struct backend_kernel *const native_kernels_${isa}[];"
        echo "const struct backend_kernel *const native_kernels_${isa}[] = {"
        for k; do
            echo "    $(row "$k"),"
        done
        echo '};'
    done
}

# units: the preprocessed variants ISA.NUMBER.i as what is compiled, ISA.N.c. A
# variant's function, and what calls it as launches do, go behind what stands
# before it, which variants of one unit share.
units() {
    $AWK -v name="$name" '
    function take() {
        if (!match(head, /struct [a-z_0-9]+ pc/)) {
            print name ": its text has no such kernel" >"/dev/stderr"
            exit 1
        }
        pc = substr(head, RSTART, RLENGTH)
        sub(/\).*/, "", head)
        operands = gsub(/,/, ",", head) - 2
        if (!((of, before) in unit)) {
            unit[of, before] = of "." ++units ".c"
            printf "%s", before >unit[of, before]
        }
        file = unit[of, before]
        print function_text >file
        print "void native_" symbol "(void *const *, const void *, uint32_t,\n" \
            "    uint32_t);\n" \
            "void native_" symbol "(void *const *operand, const void *words,\n" \
            "    uint32_t group, uint32_t groups)\n" \
            "{\n" \
            "    " pc ";\n" \
            "    memcpy(&pc, words, sizeof(pc));" >file
        printf "    %s_%s(", name, symbol >file
        for (i = 0; i < operands; i++)
            printf "operand[%d], ", i >file
        print "pc, group, groups);\n}" >file
    }
    FNR == 1 {
        if (NR > 1)
            take()
        split(substr(FILENAME, 3), part, ".")
        of = part[1]
        symbol = name "_" part[2] "_" of
        before = function_text = head = ""
        ended = 0
    }
    /^# 0 / { next }
    {
        sub(/^native_include/, "#include")
        if (sub(/^# /, "#line "))
            sub(/[ 0-9]+$/, "")
    }
    index($0, "static void " name "(") == 1 {
        sub(name, name "_" symbol)
        function_text = "__attribute__((flatten)) "
    }
    function_text == "" {
        before = before $0 "\n"
        next
    }
    {
        function_text = function_text $0 "\n"
        if (!ended && !/^#/)
            head = head $0
        ended = ended || /\)/
    }
    END { take() }' "$@"
}

# wanted KEY=VALUE...: is this one of the VARIANTS?
wanted() {
    [ -n "${VARIANTS-}" ] || return 0
    case " $* " in *" $VARIANTS "*) ;; *) return 1 ;; esac
}

if [ "$what" = table ]; then
    table "$@"
    exit 0
fi

deps=$1
shift
text='' object='' n=$#
while [ "$n" -gt 0 ]; do
    case $1 in
    -c) text=$2 && shift && n=$((n - 1)) ;;
    -o) object=$2 && shift && n=$((n - 1)) ;;
    *) set -- "$@" "$1" ;;
    esac
    shift
    n=$((n - 1))
done

# Without the user's wish for another level: -O1 and the vectorizer. -O2 takes a
# third longer, and makes code faster only if loops do not become vectors: in
# sources that say "native: -O2". Registers are allocated for a whole function,
# not loop by loop, which would take a fifth longer. -g would take half as long
# again, and vector loops for the last elements of a row a quarter. If other sets
# are compiled too, plain C is for rare processors, and is compiled quickly.
quick=-O1
vectors='-ftree-vectorize -fvect-cost-model=dynamic -funswitch-loops
    --param=vect-epilogues-nomask=0 -fira-region=one'
takes() {
    $CC -Werror "$@" -E -x c /dev/null >/dev/null 2>&1
}
level=-O1 # gcc's, which has the vectorizer if it is asked for
# shellcheck disable=SC2086 # words are meant
takes $vectors || {
    all=$vectors vectors='' level=-O2
    for flag in $all; do
        ! takes "$flag" || vectors="$vectors $flag"
    done
}
# Compilers that read preprocessed text do not see macros; loops
# that stay loops need no remark.
set -- "$@" -Wno-unused-function -Wno-shadow -Wno-tautological-compare \
    -Wno-pass-failed
case " $* " in
*' -O0 '* | *' -O1 '* | *' -Og '* | *' -Os '* | *' -O3 '*)
    quick='' vectors=''
    ;;
*)
    if grep -q '^ [*] native: -O2$' "$text"; then
        level=-O2 pre= # which gcc 12 does not survive: made with another level
    fi
    set -- "$@" -g0 $level
    ;;
esac
[ "$ISAS" != plain ] || quick=$vectors
set -- "$@" -fopenmp-simd -ffp-contract=off -fno-math-errno -fno-trapping-math

if [ "$what" = headers ]; then
    for isa in $ISAS; do
        cp "$text" "$pre/$isa.h"
        # shellcheck disable=SC2046 # words are meant
        $CC "$@" $(isa_flags "$isa") -x c-header "$pre/$isa.h" \
            -o "$pre/$isa.h.gch"
    done
    touch "$object"
    exit 0
fi

name=$(basename "$text" .k)
work=$object.parts
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# Headers of the system are most of what a compiler would read: they stand in
# preprocessed sources as words, of which units make #includes again. -I comes
# before the folders of compilers whose -nostdinc leaves some, as musl-gcc's.
path=${text#"$top/"}
mkdir "$work/system"
${SHELL:-sh} "$top/kernels/embed.sh" files "$top" "$path" |
    sed "s|^|$top/|" | xargs sed -n 's/^#include <\(.*\)>.*/\1/p' |
    while read -r header; do
        echo "native_include <$header>" >"$work/system/$header"
    done

${SHELL:-sh} "$top/kernels/embed.sh" list "$top" "$path" >"$work/list"
number=0
while read -r _ keys; do
    if ! wanted $keys; then
        for isa in $ISAS; do echo '    {0},' >>"$work/rows.$isa"; done
        number=$((number + 1))
        continue
    fi
    defines=
    for key in $keys; do defines="$defines -D$key"; done
    for isa in $ISAS; do
        symbol=native_${name}_${number}_$isa
        # shellcheck disable=SC2046,SC2086 # words are meant
        $CC "$@" $(isa_flags "$isa") $defines -DNATIVE -nostdinc \
            "-I$work/system" -DFLT_EVAL_METHOD=__FLT_EVAL_METHOD__ -MMD -MF \
            "$work/$isa.$number.d" -E -x c "$text" -o "$work/$isa.$number.i"
        echo "    {$symbol}," >>"$work/rows.$isa"
        echo "void $symbol(void *const *, const void *, uint32_t, uint32_t);" \
            >>"$work/declared"
    done
    number=$((number + 1))
done <"$work/list"
(cd "$work" && units ./*.i)
{
    echo '#include "backends/cpu/kernel.h"'
    cat "$work/declared"
    for isa in $ISAS; do
        array="const struct backend_kernel native_${name}_${isa}[]"
        echo "extern $array;"
        echo "$array = {"
        cat "$work/rows.$isa"
        echo '};'
    done
} >"$work/table.c"
$CC "$@" -c "$work/table.c" -o "$work/table.o"
rm "$work/table.c"
for unit in "$work"/*.c; do
    isa=${unit##*/}
    isa=${isa%%.*}
    # shellcheck disable=SC2046,SC2086 # words are meant
    $CC "$@" $(isa_flags "$isa") ${pre:+-include "$pre/$isa.h"} -c "$unit" \
        -o "${unit%.c}.o"
done
$CC -r -nostdlib -o "$object" "$work"/*.o
# a header that is missing later is not an error
cat "$work"/*.d | tr -s ' \\' '\n\n' | sed '/:$/d; /^$/d' |
    grep -vF "$work/system/" | sort -u |
    sed "s|.*|${deps%.d}.o: &\n&:|" >"$deps"
