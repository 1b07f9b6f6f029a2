#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mma.sh - products by our own kernel on tensor cores, where there is a driver
# and no cuBLASLt: the PTX that ships, the instructions of a step of k, the
# tables of gemm, and that a device whose tensor cores are wrong is found out by
# its self-test.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/fakecuda/by_mma.sh"

tool=$builddir/sesqui
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'products by mma'
    tap_done 0
    exit 0
fi
unset VIRTUAL_ENV CONDA_PREFIX

# Every entry is of the lowest level that has its instructions.
gzip -dc "$builddir/kernels/ptx.pack" >"$tmp/all"
awk '$1 == ".version" { version = $2 }
    $1 == ".target" { target = $2 }
    $2 == ".entry" {
        split($3, name, "(")
        mma = name[1] == "gemm_mma" ? " mma" : ""
        print version, target mma
    }' "$tmp/all" | sort | uniq -c >"$tmp/levels"
sed 's/^ *[0-9]* //' "$tmp/levels" | tr '\n' ';' >"$tmp/kinds"
[ "$(cat "$tmp/kinds")" = '6.0 sm_70;6.5 sm_75 mma;7.0 sm_80 mma;' ]
tap_ok $? "levels: $(tr -s ' \n' ' ' <"$tmp/levels")"

mkdir "$tmp/mma"
mma_split "$tmp/mma" <"$tmp/all"
"$builddir/tests/fakecuda/mma_count" "$tmp"/mma/* >"$tmp/out"
tap_ok $? "24 variants: $(sed -n 's/^ok 28 - [^:]*: //p' "$tmp/out")"
grep -c '^ok.* 0 bank conflicts' "$tmp/out" >"$tmp/none"
[ "$(cat "$tmp/none")" -eq 24 ] && ! grep -q '^not ok' "$tmp/out"
tap_ok $? 'each as it should be, without a bank conflict' ||
    grep '^not ok' "$tmp/out" | sed 's/^/#   /'

# A driver without a cuBLASLt beside it.
mkdir "$tmp/alone"
cp "$builddir/tests/fakecuda/libcuda.so.1" "$tmp/alone/"
LD_LIBRARY_PATH=$tmp/alone
export LD_LIBRARY_PATH

# table NAME STRIDE TABLE [VARIABLE=VALUE...]
table() {
    name=$1 stride=$2 op=$3
    shift 3
    [ -z "${SSQ_TEST_FULL-}" ] || stride=3
    env SSQ_TEST_STRIDE="$stride" "$@" "$tool" verify --device cuda:0 \
        --op "$op" >"$tmp/out" 2>&1
    status=$?
    by_mma && [ $status -eq 0 ]
    tap_ok $? "$name: $(sed -n 's/^# \([0-9]* passed.*\)/\1/p' "$tmp/out")" ||
        grep -A 3 '^not ok\|fakecuda:' "$tmp/out" | sed 's/^/#   /'
}
table 'sm_80' 331 gemm
table 'sm_80, shapes' 53 gemm_shapes
table 'sm_80, races and reads of nothing' 251 gemm FAKECUDA_RACE=1
table 'sm_75' 227 gemm FAKECUDA_CAPABILITY=75
table 'sm_80, one group a launch' 251 gemm FAKECUDA_GROUPS=1

# wrong HOW PATTERN: the self-test says what is wrong, and the plan does it.
wrong() {
    env FAKECUDA_MMA="$1" SSQ_VERBOSE=1 SSQ_TEST_STRIDE=127 "$tool" verify \
        --device cuda:0 --op gemm >"$tmp/out" 2>&1
    status=$?
    grep -q "mma: it fails the self-test of f16, tiles of 64: .*: $2" \
        "$tmp/out" && [ $status -eq 0 ] && ! by_mma
    tap_ok $? "at fault, $1: $2" || sed 's/^/#   /' "$tmp/out"
}
wrong half 'sums are rounded to less than float32'
wrong turned 'rows have changed places'
wrong tail 'wrong sums'
env FAKECUDA_CAPABILITY=70 SSQ_TEST_STRIDE=331 "$tool" verify --device cuda:0 \
    --op gemm >"$tmp/out" 2>&1 && ! by_mma
tap_ok $? 'sm_70 has no such instructions, and goes on'
tap_done 12
