#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# brief.sh - run.sh and its workloads with tiny sizes: on guard, and on the
# stand-in of CUDA's driver. The figures measured there mean nothing.

. "${srcdir:-.}/tests/lint/tap.sh"

# try DEVICE STAGE...: the ones that need no build.
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

# The peer's names are the names of the workloads.
printf 'copy\ttorch\t1\t0\t4096\n' >"$tmp/guard/torch.tsv"
sed -n 's/^\(gemm [^\t]*\)\tchosen\t[^\t]*/\1\ttorch\t10/p' "$file" \
    >>"$tmp/guard/torch.tsv"
GPU_DEVICES=guard GPU_BUILD=$builddir sh "$srcdir/tests/gpu/run.sh" \
    -o "$tmp/guard" report >"$tmp/out" 2>&1
grep -q '^| gemm f16 cube .*x |' "$tmp/guard/report.md"
tap_ok $? 'ratios to a peer'

# Targets, of numbers that were made up: one is reached by both products, one
# missed by one of two, one not measured.
numbers() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$@"
}
{
    numbers copy chosen 1 0 100
    numbers 'gemm f16 cube 1' chosen 1 8 8
    numbers 'gemm f16 cube 2' chosen 1 8 8
    numbers 'gemm f16 cube 1' mma 1 8 8
    numbers 'gemm f16 cube 2' mma 2 8 8
    numbers 'softmax f16 1' chosen 1 0 95
    numbers 'step of a perceptron' captured 1 8 0
    numbers 'host waits' eager 0 0 0
    numbers 'host waits' captured 1 0 0
} >"$tmp/ours.tsv"
{
    numbers copy torch 1 0 110
    numbers 'gemm f16 cube 1' torch 1 8 8
    numbers 'gemm f16 cube 2' torch 1.1 8 8
    numbers 'step of a perceptron' torch 1.3 8 0
    numbers 'step of a perceptron' compiled 0.1 8 0
} >"$tmp/torch.tsv"
awk -v files="cuda:0=$tmp/ours.tsv torch=$tmp/torch.tsv" -v part=targets \
    -f "$srcdir/tests/gpu/report.awk" >"$tmp/targets"
# says NAME TARGET WORST VERDICT: the page contains this.
says() {
    awk -F ' *[|] *' -v target="$2" -v worst="$3" -v verdict="$4" \
        '$2 == target && index($3, worst) == 1 && $6 == verdict {
            found = 1
        }
        END { exit !found }' "$tmp/targets"
    tap_ok $? "$1" || sed 's/^/# /' "$tmp/targets"
}
says 'a target that is reached' 'products' \
    '1.00 (cuda:0 chosen: gemm f16 cube 1)' 'reached: 2 of 2'
says 'one that is missed' "products by \`mma\`" \
    '0.55 (cuda:0 mma: gemm f16 cube 2)' 'missed: 1 of 2'
says 'one that nobody measured' "products by Vulkan's \`coopmat\`" '' \
    'not measured'
says 'the limit is the faster copy' 'what is bound by memory' \
    '0.86 (cuda:0 chosen: softmax f16 1)' 'missed: 0 of 1'
says 'a step beside the eager one' 'a training step' \
    '1.30 (cuda:0 captured: step of a perceptron)' 'reached: 1 of 1'
says 'the host waits' 'waits of the host in a step' '1' 'missed'
grep -q '^| waits of the host' "$tmp/guard/report.md"
tap_ok $? 'the report has the targets'

if [ -z "${SSQ_TEST_FULL-}" ]; then
    : # the same script on another device
elif [ -f "$builddir/cuda.la" ]; then
    LD_LIBRARY_PATH=$builddir/tests/fakecuda
    export LD_LIBRARY_PATH
    try cuda:0 verify bench report
    tap_ok $? 'on the stand-in of CUDA' || sed 's/^/# /' "$tmp/out"
    grep -q 'cublaslt' "$tmp/cuda:0/cuda-0.tsv"
    tap_ok $? 'products by cublaslt and by the plan'
    grep -q '^| waits of the host in a step | 0 | none | 0 | reached |' \
        "$tmp/cuda:0/report.md"
    tap_ok $? 'the host waits in no step'
else
    tap_missing fakecuda 'no cuda module was built' 'on the stand-in of CUDA'
fi
tap_done 12
