#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvidia.sh - products on tensor cores by OpenCL, where the driver says that it is
# NVIDIA's: tests/opencl/nvidia.c before PoCL, whose compiler is clang's for
# nvptx64 and whose GPU is the interpreter of PTX. No driver of NVIDIA's has seen
# the text.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/fakecuda/by_mma.sh"

tool=$builddir/sesqui
NVIDIA_CLANG=${PTXCC:-clang}
driver=$builddir/tests/opencl/.libs/nvidia.so
if ! [ -f "$builddir/opencl.la" ] || ! [ -f "$driver" ] ||
    ! "$tool" devices 2>/dev/null | grep -q '^opencl:0.*Portable'; then
    tap_missing opencl 'no PoCL' 'products by mma on OpenCL'
    tap_done 0
    exit 0
fi
if ! command -v "$NVIDIA_CLANG" >/dev/null 2>&1; then
    tap_missing fakecuda 'no clang' 'products by mma on OpenCL'
    tap_done 0
    exit 0
fi
if ldd "$driver" | grep -q 'libasan'; then
    tap_skip 'its library would have to be the first' 'mma on OpenCL'
    tap_done 0
    exit 0
fi
NVIDIA_H=$(cd "$srcdir" && pwd)/tests/opencl/nvidia.cl
XDG_CACHE_HOME=$tmp/cache
mkdir "$tmp/cache"
export NVIDIA_CLANG NVIDIA_H XDG_CACHE_HOME
unset SSQ_CACHE_PROGRAMS # make check has set it to 0

# to_ptx FILE LEVEL=80 X=2...: a variant of the text as OpenCL C, compiled.
to_ptx() {
    out=$1 level=${2#LEVEL=}
    shift 2
    "$NVIDIA_CLANG" -x cl -cl-std=CL1.2 -target nvptx64-nvidia-nvcl \
        -Xclang -target-cpu -Xclang "sm_$level" -Xclang -target-feature \
        -Xclang "+ptx$([ "$level" = 75 ] && echo 65 || echo 70)" \
        -Xclang -fdeclare-opencl-builtins -include "$NVIDIA_H" -O3 \
        -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt -Wall -Wextra \
        -Wno-unused-function -Werror -DNATIVE_EXACT_DIV -DWG=256 -DWIDTH=4 \
        "-DLEVEL=$level" "-D$1" "-D$2" "-D$3" "-D$4" "-I$srcdir" \
        -S -o "$out" "$srcdir/kernels/gemm/gemm_mma.nv" 2>&1
}

# Some of the variants, as CUDA has them and as OpenCL C: a step of k does the
# same, no bank conflicts, and all bits are equal.
if [ -f "$builddir/kernels/ptx.pack" ]; then
    mkdir "$tmp/cuda" "$tmp/opencl"
    gzip -dc "$builddir/kernels/ptx.pack" | mma_split "$tmp/cuda"
    sh "$srcdir/kernels/embed.sh" list "$srcdir" kernels/gemm/gemm_mma.nv \
        >"$tmp/list"
    n=0 wrong=0 some=$([ -n "${SSQ_TEST_FULL-}" ] && echo 1 || echo 5)
    while read -r text keys; do
        n=$((n + 1))
        name=$(printf '%02d' $n)
        [ $((n % some)) -eq 0 ] || {
            rm "$tmp/cuda/$name"
            continue
        }
        : "$text"
        to_ptx "$tmp/opencl/$name" $keys >>"$tmp/said" || wrong=$((wrong + 1))
    done <"$tmp/list"
    [ $wrong -eq 0 ]
    tap_ok $? "$((n / some)) of $n variants compile as OpenCL C" ||
        sed 's/^/#   /' "$tmp/said" | head -n 20
    for language in cuda opencl; do
        "$builddir/tests/fakecuda/mma_count" "$tmp/$language"/* |
            grep '^ok\|^not ok' >"$tmp/$language.said"
    done
    ! grep '^not ok' "$tmp/opencl.said" >"$tmp/out" &&
        cmp -s "$tmp/cuda.said" "$tmp/opencl.said" &&
        [ "$(grep -c ' 0 bank conflicts' "$tmp/opencl.said")" -eq $((n / some)) ]
    tap_ok $? "each does what CUDA's does: $(sed -n 's/^ok 1 - [^:]*: //p' \
        "$tmp/opencl.said")" ||
        diff "$tmp/cuda.said" "$tmp/opencl.said" | sed 's/^/#   /'
fi

# on COMMAND...: with the driver before PoCL.
on() {
    env "LD_PRELOAD=$driver" "$@" >"$tmp/out" 2>&1
}

# table NAME STRIDE TABLE [VARIABLE=VALUE...]
table() {
    name=$1 stride=$2 op=$3
    shift 3
    [ -z "${SSQ_TEST_FULL-}" ] || stride=3
    on SSQ_TEST_STRIDE="$stride" "$@" "$tool" verify --device opencl:0 \
        --op "$op"
    status=$?
    by_mma && [ $status -eq 0 ]
    tap_ok $? "$name: $(sed -n 's/^# \([0-9]* passed.*\)/\1/p' "$tmp/out")" ||
        grep -A 3 '^not ok\|nvidia:' "$tmp/out" | sed 's/^/#   /'
}
table 'sm_80' 89 gemm
table 'sm_80, shapes' 37 gemm_shapes
table 'from the disk, without a compiler' 89 gemm NVIDIA_CLANG=false
table 'sm_75' 113 gemm NVIDIA_CAPABILITY=75

# cases NAME WHAT [ARGUMENT...]: mma_refused's.
cases() {
    name=$1
    shift
    on "$@"
    ! grep -q '^not ok\|^Bail' "$tmp/out" && grep -q '^1\.\.2' "$tmp/out"
    tap_ok $? "$name: $(grep -c '^ok' "$tmp/out") cases" ||
        grep -A 2 '^not ok\|^Bail\|nvidia:' "$tmp/out" | sed 's/^/#   /'
}
program=$builddir/tests/fakecuda/mma_refused
cases 'what it does not take' "$program" opencl:0

# refused REASON VARIABLE=VALUE...: mma is not taken, for this reason, which
# explain has too; another one does the product.
refused() {
    reason=$1
    shift
    cases "$*: $reason" SSQ_CACHE_PROGRAMS=0 "$@" "$program" opencl:0 "$reason"
}
refused 'sums are rounded to less than float32' FAKECUDA_MMA=half
refused 'rows have changed places' FAKECUDA_MMA=turned
refused 'wrong sums' FAKECUDA_MMA=tail
refused 'clBuildProgram: CL_BUILD_PROGRAM_FAILURE' NVIDIA_LACKS=asm
refused 'the driver has no cl_nv_device_attribute_query' NVIDIA_LACKS=query
refused 'mma of f16 needs compute capability 7.5 or later, this is 7.0' \
    NVIDIA_CAPABILITY=70
refused 'mma wants 24576 bytes of memory that a group shares, here are 16384' \
    NVIDIA_LOCAL=16384
# groups of another size are all kernels once more
[ -z "${SSQ_TEST_FULL-}" ] ||
    refused 'it needs groups of 256 work-items, here are 64' SSQ_OPENCL_GROUP=64
cases "PoCL itself: it is for NVIDIA's GPUs" env LD_PRELOAD= "$program" opencl:0 \
    "it is for NVIDIA's GPUs"
tap_done 14
