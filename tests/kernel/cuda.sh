#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cuda.sh - the kernels as CUDA: by clang, which needs no toolkit, and with
# SSQ_TEST_FULL=1 by nvcc. The front end finds what the language forbids; the
# build makes PTX of the same texts, which tests/fakecuda runs.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches 'CUDA by clang' '64,4' clang -x cuda -nocudainc -nocudalib \
    --cuda-device-only --cuda-gpu-arch=sm_70 -Wno-unknown-cuda-version \
    -ffp-contract=off -Wall -Wextra -Wno-unused-function -Werror \
    -fsyntax-only
[ -z "${SSQ_TEST_FULL-}" ] ||
    kernel_batches 'CUDA by nvcc' '64,4' nvcc -x cu --ptx -arch=compute_75 \
    -fmad=false -Werror all-warnings -o "$tmp/object"
tap_done 1
