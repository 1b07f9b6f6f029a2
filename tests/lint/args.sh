#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# args.sh - every op has its argument macro and its SSQ_X_INIT, both with the
# same defaults in C and C++; all that the headers declare is defined; and the
# macros compile without a warning wherever a caller may write them.

. "${srcdir:-.}/tests/lint/tap.sh"

include=$srcdir/include

{
    echo '#include <sesqui.h>'
    echo '#include <sesqui/cpu.h>'
    echo '#include <sesqui/cuda.h>'
    echo '#include <sesqui/data.h>'
    echo '#include <sesqui/dlpack.h>'
    echo '#include <sesqui/share.h>'
    echo '#include <sesqui/opencl.h>'
    echo '#include <sesqui/vulkan.h>'
} >"$tmp/all.c"
$CC -std=c11 -E -D'__attribute__(x)=' -I"$include" "$tmp/all.c" |
    $AWK -f "$srcdir/tests/lint/declarations.awk" >"$tmp/declared"
$CC -std=c11 -E -dM -I"$include" "$tmp/all.c" |
    sed -n 's/^#define \(SSQ_[A-Z0-9_]*\).*/\1/p' | sort >"$tmp/macros"

# Ops are the functions of a queue and a const struct of arguments. A line:
# the name in capitals, the struct.
cat "$include"/sesqui/ops/*.h | sed 's,/\*.*\*/,,' | tr '\n' ' ' |
    grep -oE 'ssq_[a-z0-9_]+\( *ssq_queue \*queue, *const ssq_[a-z0-9_]+_args' |
    sed 's/^ssq_\([a-z0-9_]*\)(.*const \(ssq_[a-z0-9_]*\)$/\1 \2/' |
    while read -r op type; do
        echo "SSQ_$(echo "$op" | tr a-z A-Z) $type"
    done | sort -u >"$tmp/ops"
n=$(grep -c '' "$tmp/ops")
tap_ok "$((n < 150))" "the headers have $n ops"
while read -r macro type; do
    for name in "$macro" "${macro}_INIT"; do
        grep -qx "$name" "$tmp/macros" || echo "$name"
    done
done <"$tmp/ops" >"$tmp/out"
tap_empty 'every op has SSQ_<OP> and SSQ_<OP>_INIT'

cat "$include"/sesqui/*.h "$include"/sesqui/*/*.h |
    grep -oE '\bSSQ_[A-Z0-9_]+_INIT\b' | sort -u |
    comm -23 - "$tmp/macros" >"$tmp/out"
tap_empty 'every SSQ_X_INIT that a header names is defined'

# program LANGUAGE: for every op, field by field, the macro without fields, the
# INIT, and in C++ also the empty braces.
program() {
    printf '#include <sesqui.h>\n#include <stdio.h>\n#include <string.h>\n'
    echo 'int main(void) { int bad = 0;'
    while read -r macro type; do
        real=$($AWK -v t="$type" '
            $1 == "alias" && $2 == t { t = $3 } END { print t }' \
            "$tmp/declared")
        fields=$($AWK -v t="$real" '$1 == "struct" && $2 == t {
            for (i = 3; i <= NF; i++) { sub(/:.*/, "", $i); print $i } }' \
            "$tmp/declared")
        echo "{ $type a = ${macro}_INIT; const $type *b = &a;"
        if [ "$1" = c ]; then
            echo "b = $macro();"
        else
            echo "$type braces{}; b = &braces;"
        fi
        for f in $fields; do
            echo "if (memcmp(&a.$f, &b->$f, sizeof(a.$f)) != 0)"
            echo "bad = puts(\"$macro .$f\") != EOF;"
        done
        [ -n "$fields" ] || echo "bad = puts(\"$type has no field\") != EOF;"
        echo '}'
    done <"$tmp/ops"
    echo 'return bad != 0; }'
}

# try NAME COMPILER STANDARD FILE FLAGS...: compile without a warning, and run.
try() {
    what="$1: ${2##*/} $3" compiler=$2 standard=$3 file=$4
    shift 4
    tap_run "$what" $compiler -std="$standard" -Wall -Wextra -Wpedantic \
        -Werror -I"$include" -I"$srcdir" "$@" -o "$tmp/program" "$file" &&
        tap_run "$what, run" "$tmp/program"
}

program c >"$tmp/defaults.c"
program cc >"$tmp/defaults.cc"
for f in use.c use.cc; do
    printf '#include "tests/lint/args_use.h"\n%s\n' \
        'int main(void) { return use(NULL); }' >"$tmp/$f"
done

# Options nested in other arguments have their defaults, too.
cat >"$tmp/nested.cc" <<'END'
#include <sesqui.h>

static int differs(const ssq_trainer_args *t)
{
    const ssq_optimizer_options o = SSQ_OPTIMIZER_INIT, &a = t->options;
    return a.struct_size != o.struct_size || a.lr != 0.01 ||
           a.beta1 != o.beta1 || a.beta2 != o.beta2 || a.alpha != o.alpha ||
           a.eps != o.eps || a.weight_decay != o.weight_decay ||
           a.max_grad_norm != o.max_grad_norm ||
           a.bias_correction != o.bias_correction ||
           a.grad_averaging != o.grad_averaging || a.master != o.master ||
           t->params.struct_size != sizeof(t->params) || t->params.seed != 7;
}

int main()
{
    return differs(SSQ_TRAINER(.params = {.seed = 7}, .options = {.lr = 0.01}));
}
END

cs=$CC
cxxs=$CXX
if command -v clang >/dev/null && ! $CC --version | grep -q clang; then
    cs="$cs:clang" cxxs="$cxxs:clang++"
fi
IFS=:
for c in $cs; do
    unset IFS
    try 'defaults' "$c" c11 "$tmp/defaults.c"
    try 'calls' "$c" c11 "$tmp/use.c" -O2
    try 'calls' "$c" gnu17 "$tmp/use.c" -O0
    IFS=:
done
for c in $cxxs; do
    unset IFS
    command -v "${c%% *}" >/dev/null || continue
    try 'defaults' "$c" c++17 "$tmp/defaults.cc"
    try 'calls' "$c" c++20 "$tmp/use.cc" -O2
    try 'calls' "$c" gnu++20 "$tmp/use.cc" -O0
    try 'options within options' "$c" c++20 "$tmp/nested.cc"
    IFS=:
done
unset IFS
# Without the extensions of GNU C: the last initialiser wins, which gcc and
# clang warn of.
{
    printf '#include <%s.h>\n' stdbool stddef stdint stdio
    echo '#undef __GNUC__'
    cat "$tmp/use.c"
} >"$tmp/plain.c"
try 'calls, plain' "$CC" c11 "$tmp/plain.c" -Wno-override-init
tap_done 15
