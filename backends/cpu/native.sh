#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# native.sh - a kernel's text as C, compiled in all variants for each set of
# instructions of ISAS, as one object with a table of them.
#
# usage: native.sh text SRCDIR DEPS FLAG... -c TEXT FLAG... -o OBJECT
#        native.sh table SRCDIR TEXT...       C: the tables of all texts, by id
#
# libtool calls the first as it would a compiler. Each variant is a program of
# its own, since its keys are macros: they are linked into one object, which
# exports native_NAME_ISA, an array of struct backend_kernel. CC and AWK are the
# tools; DEPS is what make must know.
set -eu
LC_ALL=C
export LC_ALL
what=$1 top=$2
shift 2

# Instructions and the width of their vectors. Every kernel is exact: nothing
# is contracted, and no compiler is told that NaNs, signs of zero or the order
# of sums do not matter. Nobody reads errno or the flags of exceptions.
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

table() {
    echo '/* native_table.c - made by native.sh: do not edit. */'
    echo '#include "backends/cpu/isa.h"'
    for isa in $ISAS; do
        for k; do
            echo "extern const struct backend_kernel" \
                "native_$(basename "$k" .k)_${isa}[];"
        done
        echo "extern const struct backend_kernel *const native_kernels_${isa}[];"
        echo "const struct backend_kernel *const native_kernels_${isa}[] = {"
        for k; do
            echo "    native_$(basename "$k" .k)_$isa,"
        done
        echo '};'
    done
}

# A text's parameters as its preprocessed definition names them: the struct of
# its words and the number of its operands.
signature() {
    $CC -E -P "$@" -x c "$text" | tr '\n' ' ' |
        sed -n "s/.*static void $name(\([^)]*\)).*/\1/p" |
        $AWK '{
            n = gsub(/,/, ",")
            match($0, /struct [a-z_0-9]+ pc/)
            print n - 2, substr($0, RSTART + 7, RLENGTH - 10)
        }'
}

# call OPERANDS STRUCT: what calls the text's function as launches do.
call() {
    echo "#include \"$text\""
    echo '#include "backends/cpu/isa.h"'
    echo "void $symbol(void *const *, const void *, uint32_t, uint32_t);"
    echo "void $symbol(void *const *operand, const void *words,"
    echo '    uint32_t group, uint32_t groups)'
    echo '{'
    echo "    struct $2 pc;"
    echo '    memcpy(&pc, words, sizeof(pc));'
    printf '    %s(' "$name"
    operand=0
    while [ "$operand" -lt "$1" ]; do
        printf 'operand[%d], ' "$operand"
        operand=$((operand + 1))
    done
    echo 'pc, group, groups);'
    echo '}'
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
name=$(basename "$text" .k)
work=$object.parts
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# The level of optimisation that autoconf chooses asks for few vectors; any
# other is the user's wish. Over a thousand programs take minutes already:
# without -g a third less, and without smaller vectors for what is left over
# behind the large ones a quarter less again. Plain C that is not the only one
# is for processors that hardly anybody has, and is compiled quickly.
quick=-O1
vectors='-ftree-vectorize -fvect-cost-model=dynamic -funswitch-loops'
large=--param=vect-epilogues-nomask=0
if $CC -Werror $large -E -x c /dev/null >/dev/null 2>&1; then
    vectors="$vectors $large"
fi
set -- "$@" -Wno-unused-function -Wno-shadow
case " $* " in
*' -O0 '* | *' -O1 '* | *' -Og '* | *' -Os '* | *' -O3 '*)
    quick='' vectors=''
    ;;
*) set -- "$@" -g0 ;;
esac
[ "$ISAS" != plain ] || quick=$vectors
set -- "$@" -DNATIVE -fopenmp-simd -ffp-contract=off -fno-math-errno \
    -fno-trapping-math
${SHELL:-sh} "$top/kernels/embed.sh" list "$top" "${text#"$top/"}" \
    >"$work/list"
variant=0
while read -r _ keys; do
    defines=
    for key in $keys; do defines="$defines -D$key"; done
    # shellcheck disable=SC2086 # words are meant
    parameters=$(signature "$@" $defines)
    for isa in $ISAS; do
        symbol=native_${name}_${variant}_$isa
        # shellcheck disable=SC2086
        call $parameters >"$work/$symbol.c"
        # shellcheck disable=SC2046,SC2086
        $CC "$@" $(isa_flags "$isa") $defines -MD -MF "$work/d" \
            -MT "${deps%.d}.lo" -MP -c "$work/$symbol.c" -o "$work/$symbol.o"
        echo "    {$symbol}," >>"$work/rows.$isa"
        echo "void $symbol(void *const *, const void *, uint32_t, uint32_t);" \
            >>"$work/declared"
    done
    variant=$((variant + 1))
done <"$work/list"
{
    echo '#include "backends/cpu/isa.h"'
    cat "$work/declared"
    for isa in $ISAS; do
        array="const struct backend_kernel native_${name}_${isa}[]"
        echo "extern $array;"
        echo "$array = {"
        cat "$work/rows.$isa"
        echo '};'
    done
} >"$work/$name.c"
$CC "$@" -c "$work/$name.c" -o "$work/$name.o"
$CC -r -nostdlib -o "$object" "$work"/*.o
sed "s|[^ ]*\.parts/[^ :]*||" "$work/d" >"$deps"
