#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compile_machine.sh - the scaler's machine and the optimizers' arithmetic
# compile as kernels in every language, and touch no binary64.

. "${srcdir:-.}/tests/lint/tap.sh"

cat >"$tmp/machine.k" <<'EOF'
#include "kernels/amp/machine.h"
#define WORD(i) block[i]
KERNEL(update) BUF_RW(0, u32, block) ENDARGS
BODY
    if (GLOBAL_ID == 0u) {
        STRUCT(machine) m;
        MACHINE_LOAD(m, WORD)
        m = machine_next(m, false, 0u);
        MACHINE_STORE(m, WORD)
    }
END
EOF

# Every kind, and every function beside them.
cat >"$tmp/optimizers.k" <<'EOF'
#include "kernels/amp/tick.h"
#define F(i) AS_F32(x[i])
#define WORD(i) x[8u + i]
KERNEL(update) BUF_RW(0, u32, x) ENDARGS
BODY
    EXACT STRUCT(element) e;
    EXACT STRUCT(step_group) w;
    STEP_GROUP_LOAD(w, WORD)
    w.flags = x[0];
    w.t = x[1];
    w.coupled = w.decay;
    e.value = F(2);
    e.grad = gradient_true(F(3), F(4), F(5), w.flags);
    e.a = F(6);
    e.b = F(7);
    e.c = F(8);
    e.delta = 0.0f;
    w.lr = adagrad_lr(w.lr, F(17), w.t);
    for (u32 kind = 0u; kind < 16u; kind++)
        e = kind_step(kind, e, w);
    e = lamb_direction(e, w);
    e.delta *= lamb_ratio(F(9), F(10), F(11), F(12), w.flags);
    e.delta *= clip_coefficient(F(13), F(14)) * lamb_divisor(F(13), F(15));
    e.delta += accumulate_add(gradient_unscale(e.grad, F(4)), one_minus(F(16)));
    e.value = p_step(p_keep(e.value, w.keep), e.delta);
    x[2] = split_join(split_model(AS_U32(e.value)),
                      split_rest(AS_U32(e.value)));
    x[6] = AS_U32(e.a);
    x[7] = AS_U32(e.b);
    x[8] = AS_U32(e.c);
    x[0] = magnitude_exponent(AS_U32(s_abs(e.value)));
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
        tap_skip "no $compiler" "the $what as $language"
        return 1
    fi
    tap_run "the $what as $language: $compiler" "$compiler" "$@"
}

none() {
    grep -nE -- "$1" "$tmp/object" >"$tmp/out"
    tap_empty "$2"
}

PATH=$PATH:/usr/local/cuda/bin
warnings='-Wall -Wextra -Wshadow -Werror'
all() {
    kernel=$tmp/$what.k
    for cc in gcc clang; do
        build C "$cc" -x c -std=c11 -O2 -ffp-contract=off $warnings \
            "-I$srcdir" -c "$kernel" -o "$tmp/object"
    done
    if build 'OpenCL C 1.2' clang -x cl -cl-std=CL1.2 -target spir64 -O2 \
        $warnings -Xclang -finclude-default-header -DWG=64 "-I$srcdir" \
        -emit-llvm -S "$kernel" -o "$tmp/object"; then
        none 'double|fmuladd|llvm\.fma' \
            "the $what as OpenCL C: no binary64, nothing fused"
    fi
    build 'GLSL 4.50' glslc -std=450core -fshader-stage=compute \
        --target-env=vulkan1.1 -Werror -DWG=64 "-I$srcdir" "$kernel" \
        -o "$tmp/object"
    if build CUDA nvcc -x cu --ptx -arch=compute_75 -fmad=false \
        -Werror all-warnings -DWG=64 "-I$srcdir" "$kernel" \
        -o "$tmp/object"; then
        none '\.f64|fma' "the $what by nvcc: no binary64, nothing fused"
    fi
    if build CUDA clang -x cuda -nocudainc -nocudalib --cuda-device-only \
        --cuda-gpu-arch=sm_75 -Wno-unknown-cuda-version -O2 -ffp-contract=off \
        $warnings -DWG=64 "-I$srcdir" -S "$kernel" -o "$tmp/object"; then
        none '\.f64|fma' "the $what by clang to PTX: no binary64, nothing fused"
    fi
}

for what in machine optimizers; do
    all
done
tap_done 2
