#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compile_scalar.sh - kernels/scalar/scalar.h compiles in every language, and nothing
# in it is contracted: a generated kernel calls each of its functions.

. "${srcdir:-.}/tests/lint/tap.sh"

kernel=$tmp/every.k
warnings='-Wall -Wextra -Wconversion -Wshadow -Werror'
c_flags="-x c -std=c11 -O2 -ffp-contract=off $warnings -I$srcdir"

# build LANGUAGE COMPILER FLAGS...: one case, skipped without the compiler;
# the result is in $tmp/object.
build() {
    language=$1
    compiler=$2
    shift 2
    rm -f "$tmp/object"
    if ! command -v "$compiler" >/dev/null 2>&1; then
        tap_skip "no $compiler" "scalar.h as $language"
        return 1
    fi
    tap_run "scalar.h as $language: $compiler" "$compiler" "$@"
}

# none PATTERN NAME: no line of the object matches.
none() {
    grep -nE -- "$1" "$tmp/object" >"$tmp/out"
    tap_empty "$2"
}

# ptx COMPILER: every sum and product says .rn, so ptxas cannot fuse it, and
# nothing is approximate or flushes subnormals.
ptx() {
    none '(fma|mad)\.[a-z.]*f32|\.approx|\.ftz|(add|sub|mul)\.f32' \
        "$1: no operation is fused, approximate or flushing"
    tap_ok "$(($(grep -c 'mul\.rn\.f32' "$tmp/object") < 100))" \
        "$1: $(grep -c 'mul\.rn\.f32' "$tmp/object") exact products"
}

# The headers of the directory that scalar.h includes.
headers=$(sed -n "s|^#include \"\(kernels/scalar/.*\)\"|$srcdir/\1|p" \
    "$srcdir/kernels/scalar/scalar.h")
# shellcheck disable=SC2086 # words are meant
${AWK:-awk} -f "$srcdir/tests/scalar/every.awk" $headers >"$kernel"
functions=$(sed -n 's|^#define FUNCTIONS \([0-9]*\)u$|\1|p' "$kernel")
declared=$(cat $headers | grep -c '^FN ')
tap_ok "$((functions != declared || functions < 60))" \
    "the kernel calls all $declared functions"

for cc in gcc clang; do
    build C "$cc" $c_flags -c "$kernel" -o "$tmp/object"
done
# Alone, nothing calls its functions, of which clang warns.
for header in "$srcdir"/kernels/dialect/dialect.h "$srcdir"/kernels/scalar/*.h; do
    tap_run "${header##*/} alone as C" ${CC:-cc} $c_flags \
        -Wno-unused-function -c "$header" -o "$tmp/object"
done
printf '#include "kernels/scalar/scalar.h"\nint x;\n' >"$tmp/x.c"
tap_run 'C refuses -ffast-math' sh -c \
    "! ${CC:-cc} -std=c11 -ffast-math -I$srcdir -c $tmp/x.c -o $tmp/object"

if build 'OpenCL C 1.2' clang -x cl -cl-std=CL1.2 -target spir64 -O2 -Wall \
    -Wextra -Werror -Xclang -finclude-default-header -DWG=64 "-I$srcdir" \
    -emit-llvm -S "$kernel" -o "$tmp/object"; then
    none 'fmuladd|llvm\.fma|contract|double|half' \
        'OpenCL: no operation is fused, none is in double or half'
fi

if build 'GLSL 4.50' glslc -std=450core -fshader-stage=compute \
    --target-env=vulkan1.1 -Werror -DWG=64 "-I$srcdir" "$kernel" \
    -o "$tmp/object"; then
    if command -v spirv-val >/dev/null 2>&1; then
        tap_run 'GLSL: spirv-val' spirv-val --target-env vulkan1.1 \
            "$tmp/object"
    else
        tap_skip 'no spirv-val' 'GLSL: spirv-val'
    fi
    if command -v spirv-dis >/dev/null 2>&1; then
        spirv-dis "$tmp/object" >"$tmp/text"
        ${AWK:-awk} '
            $1 == "OpDecorate" && $3 == "NoContraction" { exact[$2] = 1 }
            $3 ~ /^OpF(Add|Sub|Mul|Div|Negate|Rem|Mod)$/ {
                n++
                if (!($1 in exact)) print "not exact: " $0
            }
            END { if (n < 500) print "only " n + 0 " float operations" }
        ' "$tmp/text" >"$tmp/out"
        tap_empty 'GLSL: every float operation is NoContraction'
    else
        tap_skip 'no spirv-dis' \
            'GLSL: every float operation is NoContraction'
    fi
fi

PATH=$PATH:/usr/local/cuda/bin
if build CUDA nvcc -x cu --ptx -arch=compute_75 -fmad=false \
    -Werror all-warnings -DWG=64 "-I$srcdir" "$kernel" -o "$tmp/object"; then
    ptx nvcc
fi
if build CUDA clang -x cuda -nocudainc -nocudalib --cuda-device-only \
    --cuda-gpu-arch=sm_75 -Wno-unknown-cuda-version -O2 -ffp-contract=off \
    -Wall -Wextra -Werror -DWG=64 "-I$srcdir" -S "$kernel" -o "$tmp/object"
then
    ptx 'clang to PTX'
fi

# bits NAME COMPILER FLAGS...: the results of every public function on this
# machine have the bits of the first such build.
bits() {
    name=$1
    shift
    if ! command -v "${1#ccache }" >/dev/null 2>&1; then
        tap_skip "no $1" "equal bits: $name"
        return
    fi
    if ! "$@" -std=c11 -ffp-contract=off "-I$srcdir" "-I$tmp" \
        "$srcdir/tests/scalar/bits.c" -o "$tmp/bits" -lm >"$tmp/out" 2>&1 ||
        ! "$tmp/bits" >"$tmp/sums" 2>>"$tmp/out"; then
        tap_ok 1 "equal bits: $name"
        sed 's/^/#   /' "$tmp/out"
        return
    fi
    test -f "$tmp/first" || cp "$tmp/sums" "$tmp/first"
    diff "$tmp/first" "$tmp/sums" >"$tmp/out"
    tap_empty "equal bits: $name: $(grep -c '' "$tmp/sums") functions"
}

# shellcheck disable=SC2086 # words are meant
${AWK:-awk} -v public=1 -f "$srcdir/tests/scalar/every.awk" \
    $headers >"$tmp/public.k"
set -- ${CC:-cc}
bits "${CC:-cc} -O0" "$@" -O0
bits "${CC:-cc} -O3" "$@" -O3
bits 'gcc -O3 -march=native' gcc -O3 -march=native
bits 'clang -O3 -march=native' clang -O3 -march=native
bits 'gcc -O2, division and square root corrected' gcc -O2 -DSOFT_DIV

tap_done 10
