#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptxas.sh - every kernel text, as PTX for the lowest level that ships, assembles
# for NVIDIA's GPUs (make check-ptxas): no register is spilled, and only texts
# that ask for fused multiplications have any. It needs clang and ptxas of a
# toolkit, and no GPU. PTXAS_ARCHS="80 90" are some of the generations.

. "${srcdir:-.}/tests/kernel/kernel.sh"

for tool in clang ptxas; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        tap_missing "$tool" "no $tool" 'every variant assembles'
        tap_done 0
        exit 0
    fi
done
archs=${PTXAS_ARCHS:-75 80 86 89 90 100 120}

# with_clang ARGUMENT...: $tmp/all.c as CUDA.
with_clang() {
    clang -x cuda -nocudainc -nocudalib --cuda-device-only \
        --cuda-gpu-arch=sm_70 -Wno-unknown-cuda-version -O2 \
        -ffp-contract=off -DWG=64 -DWIDTH=4 "-I$srcdir" "$@" "$tmp/all.c" \
        2>"$tmp/err"
}

# registers: the most that an entry takes, of ptxas's report on standard input.
registers() {
    sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' | sort -n | tail -n 1
}

for text in ${PTXAS_TEXTS:-$texts}; do
    kernel_list "$text" | ${AWK:-awk} -v text="$text" -v top="$srcdir" \
        -f "$srcdir/tests/kernel/batch.awk" >"$tmp/all.c"
    with_clang -S -o "$tmp/all.ptx"
    tap_ok $? "$text: PTX" || sed 's/^/#   /' "$tmp/err"
    fused=$(grep -c 'fma\.rn' "$tmp/all.ptx")
    with_clang -E -o "$tmp/all.i"
    [ "$fused" -eq 0 ] || grep -q '__builtin_fmaf(' "$tmp/all.i"
    tap_ok $? "$text: $fused fused multiplications"
    for arch in $archs; do
        ptxas -arch="sm_$arch" -v -o "$tmp/all.cubin" "$tmp/all.ptx" \
            >"$tmp/out" 2>&1
        status=$?
        spilled=$(grep -c '[1-9][0-9]* bytes spill' "$tmp/out")
        [ $status -eq 0 ] && [ "$spilled" -eq 0 ]
        tap_ok $? "$text: sm_$arch: $(registers <"$tmp/out") registers," \
            "$spilled entries spill" ||
            grep -B 2 'error\|[1-9][0-9]* bytes spill' "$tmp/out" |
            sed 's/^/#   /' | head -n 20
    done
done
tap_done 100
