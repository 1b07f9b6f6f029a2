#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cuda.sh - the kernels as CUDA: by clang, which needs no toolkit, and with
# SSQ_TEST_FULL=1 by nvcc. The front end finds what the language forbids; the
# build makes PTX of the same sources, which tests/fakecuda runs.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches 'CUDA by clang' '64,4' clang -x cuda -nocudainc -nocudalib \
    --cuda-device-only --cuda-gpu-arch=sm_70 -Wno-unknown-cuda-version \
    -ffp-contract=off -Wall -Wextra -Wno-unused-function -Werror \
    -fsyntax-only

# by_nvcc ARGUMENT...: PTX that copies no parameter into local memory.
by_nvcc() {
    nvcc -x cu --ptx -arch=compute_75 -fmad=false -Werror all-warnings \
        -o "$tmp/all.ptx" "$@" &&
        ${AWK:-awk} -f "$srcdir/tests/kernel/copied.awk" "$tmp/all.ptx"
}
if [ -n "${SSQ_TEST_FULL-}" ] && command -v nvcc >/dev/null 2>&1; then
    kernel_batches 'CUDA by nvcc' '256,4' by_nvcc
elif [ -n "${SSQ_TEST_FULL-}" ]; then
    tap_skip 'no nvcc' 'kernels as CUDA by nvcc'
fi
tap_done 1
