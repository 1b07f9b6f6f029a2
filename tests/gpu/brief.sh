#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# brief.sh - run.sh and its workloads with tiny sizes: on guard, and on the
# stand-in of CUDA's driver. What they measure there means nothing.

. "${srcdir:-.}/tests/lint/tap.sh"

# try DEVICE STAGE...: those that need no build.
try() {
    device=$1
    shift
    GPU_DEVICES=$device GPU_BRIEF=1 GPU_SECONDS=0.01 GPU_BUILD=$builddir \
        sh "$srcdir/tests/gpu/run.sh" -o "$tmp/$device" "$@" >"$tmp/out" 2>&1
}

try guard bench report
tap_ok $? 'on guard' || sed 's/^/# /' "$tmp/out"
file=$tmp/guard/guard.tsv
[ "$(grep -c . "$file")" -ge 15 ] && ! grep -q "$(printf '\t-\t')" "$file"
tap_ok $? "all workloads have run: $(grep -c . "$file")"
[ "$(grep -c '^| gemm f16 .*FLOP/s' "$tmp/guard/report.md")" -eq 2 ]
tap_ok $? 'the report has their rates'
grep -q '^| softmax f16 .* GB/s, .* %' "$tmp/guard/report.md"
tap_ok $? 'and shares of a copy'

# What the peer is called is what the workloads are called.
printf 'copy\ttorch\t1\t0\t4096\n' >"$tmp/guard/torch.tsv"
sed -n 's/^\(gemm [^\t]*\)\tchosen\t[^\t]*/\1\ttorch\t10/p' "$file" \
    >>"$tmp/guard/torch.tsv"
GPU_DEVICES=guard GPU_BUILD=$builddir sh "$srcdir/tests/gpu/run.sh" \
    -o "$tmp/guard" report >"$tmp/out" 2>&1
grep -q '^| gemm f16 cube .*x |' "$tmp/guard/report.md"
tap_ok $? 'ratios to a peer'

if [ -f "$builddir/cuda.la" ]; then
    LD_LIBRARY_PATH=$builddir/tests/fakecuda
    export LD_LIBRARY_PATH
    try cuda:0 verify bench report
    tap_ok $? 'on the stand-in of CUDA' || sed 's/^/# /' "$tmp/out"
    grep -q 'cublaslt' "$tmp/cuda:0/cuda-0.tsv"
    tap_ok $? 'products by cublaslt and by the plan'
else
    tap_missing fakecuda 'no cuda module was built' 'on the stand-in of CUDA'
fi
tap_done 6
