#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compile_machine.sh - the scaler's machine compiles as a kernel in every
# language, and touches no binary64.

. "${srcdir:-.}/tests/lint/tap.sh"

kernel=$tmp/update.k
cat >"$kernel" <<'EOF'
#include "kernels/machine.h"
#define WORD(i) block[i]
KERNEL(update) BUF_RW(0, u32, block) ENDARGS
BODY
    if (GLOBAL_ID == 0u) {
        MACHINE_UPDATE(false, 0u)
    }
END
EOF

# build LANGUAGE COMPILER FLAGS...: one case, skipped without the compiler;
# the result is in $tmp/object.
build() {
    language=$1
    compiler=$2
    shift 2
    rm -f "$tmp/object"
    if ! command -v "$compiler" >/dev/null 2>&1; then
        tap_skip "no $compiler" "the machine as $language"
        return 1
    fi
    tap_run "the machine as $language: $compiler" "$compiler" "$@"
}

none() {
    grep -nE -- "$1" "$tmp/object" >"$tmp/out"
    tap_empty "$2"
}

PATH=$PATH:/usr/local/cuda/bin
warnings='-Wall -Wextra -Wshadow -Werror'
for cc in gcc clang; do
    build C "$cc" -x c -std=c11 -O2 -ffp-contract=off $warnings "-I$srcdir" \
        -c "$kernel" -o "$tmp/object"
done
if build 'OpenCL C 1.2' clang -x cl -cl-std=CL1.2 -target spir64 -O2 \
    $warnings -Xclang -finclude-default-header -DWG=64 "-I$srcdir" \
    -emit-llvm -S "$kernel" -o "$tmp/object"; then
    none 'double|fmuladd|llvm\.fma' 'OpenCL: no binary64, nothing fused'
fi
build 'GLSL 4.50' glslc -std=450core -fshader-stage=compute \
    --target-env=vulkan1.1 -Werror -DWG=64 "-I$srcdir" "$kernel" \
    -o "$tmp/object"
if build CUDA nvcc -x cu --ptx -arch=compute_75 -fmad=false \
    -Werror all-warnings -DWG=64 "-I$srcdir" "$kernel" -o "$tmp/object"; then
    none '\.f64|fma' 'nvcc: no binary64, nothing fused'
fi
if build CUDA clang -x cuda -nocudainc -nocudalib --cuda-device-only \
    --cuda-gpu-arch=sm_75 -Wno-unknown-cuda-version -O2 -ffp-contract=off \
    $warnings -DWG=64 "-I$srcdir" -S "$kernel" -o "$tmp/object"; then
    none '\.f64|fma' 'clang to PTX: no binary64, nothing fused'
fi
tap_done 1
