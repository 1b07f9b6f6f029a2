#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# amdgpu.sh - every variant as OpenCL C, by clang with AMD's device library, as
# ROCm's OpenCL compiles it. It runs inside the folder of tests/distro-env; see
# README.md.
#
# usage: amdgpu.sh clang:GPU OUT KERNEL...
#
# For each kernel: OUT/KERNEL.log has clang's remarks and messages, and
# OUT/KERNEL.symbols the sizes of the functions. OUT/failed has the kernels that
# were refused.
set -u
gpu=${1#*:} out=$2
shift 2
for library in /usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode/ockl.bc; do
    path=${library%/*}
done
for file in "$path/ockl.bc" /usr/bin/clang /usr/bin/ld.lld \
    /usr/bin/llvm-readelf; do
    [ -f "$file" ] || {
        echo "there is no ${file##*/}" >"$out/skipped"
        exit 0
    }
done

# Without -amdgpu-internalize-symbols clang 21 makes a second function of each
# kernel, which nothing calls.
for kernel; do
    clang -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa "-mcpu=$gpu" \
        "--rocm-device-lib-path=$path" -O3 -Wall -Wextra -Wno-unused-function \
        -cl-fp32-correctly-rounded-divide-sqrt -DNATIVE_EXACT_DIV \
        -DWG=256 -DWIDTH=4 -I/work/source -Xclang -finclude-default-header \
        -mllvm -amdgpu-internalize-symbols \
        -Rpass-analysis=kernel-resource-usage \
        -o "$out/code" "/work/batch/$kernel.cl" >"$out/$kernel.log" 2>&1 &&
        llvm-readelf -sW "$out/code" >"$out/$kernel.symbols" ||
        echo "$kernel" >>"$out/failed"
done
rm -f "$out/code"
times >"$out/times"
