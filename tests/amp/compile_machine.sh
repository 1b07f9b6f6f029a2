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
        MACHINE_UPDATE(false, 0u)
    }
END
EOF

# Every function once.
cat >"$tmp/optimizers.k" <<'EOF'
#include "kernels/amp/tick.h"
#define F(i) AS_F32(x[i])
KERNEL(update) BUF_RW(0, u32, x) ENDARGS
BODY
    u32 flags = x[0];
    u32 t = x[1];
    EXACT float g = gradient_true(F(2), F(3), F(4), flags);
    EXACT float p = F(5);
    EXACT float m = adam_m(F(6), g, F(7), F(8), flags);
    EXACT float v = moment_square(F(9), g, F(10), F(11));
    EXACT float d = adam_delta(m, moment_max(v, F(12)), F(13), F(14), F(15));

    if ((flags & FLAG_APEX) != 0u)
        d = adam_apex(m, v, p, F(13), F(14), F(15), F(16));
    g = gradient_decay(g, p, F(16));
    d += sgd_delta(g, sgd_buffer(m, g, F(17), F(18), t), F(17), F(19), flags);
    v = rmsprop_denom(v, moment_lerp(m, g, F(8)), F(15), flags);
    d += rmsprop_delta(g, v, F(19)) + rmsprop_buffer(m, g, v, F(17));
    d += adagrad_delta(g, adagrad_sum(v, g), adagrad_lr(F(19), F(20), t),
                       F(15));
    d *= lamb_ratio(F(21), F(22), F(19), F(16), flags);
    d *= clip_coefficient(F(23), F(24)) * lamb_divisor(F(23), F(25));
    d += accumulate_add(gradient_unscale(g, F(3)), one_minus(F(7)));
    p = p_step(p_keep(p, F(26)), d);
    x[5] = split_join(split_model(AS_U32(p)), split_rest(AS_U32(p)));
    x[0] = magnitude_exponent(AS_U32(s_abs(p)));
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
