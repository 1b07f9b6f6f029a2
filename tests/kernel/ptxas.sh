#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptxas.sh - the very PTX that ships assembles for NVIDIA's GPUs, all variants of
# all texts (make check-ptxas): no register is spilled, and only texts that ask
# for fused multiplications have any. It needs ptxas of a toolkit, and no GPU.
# PTXAS_ARCHS="80 90" are some of the generations, PTXAS_TEXTS some of the texts.

. "${srcdir:-.}/tests/kernel/kernel.sh"
. "$srcdir/tests/kernel/shipped.sh"

if ! command -v ptxas >/dev/null 2>&1 &&
    [ -x "${CUDA_DIR:-/usr/local/cuda}/bin/ptxas" ]; then
    PATH=$PATH:${CUDA_DIR:-/usr/local/cuda}/bin
fi
for tool in clang ptxas; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        tap_missing "$tool" "no $tool" 'every variant assembles'
        tap_done 0
        exit 0
    fi
done
archs=${PTXAS_ARCHS:-75 80 86 89 90 100 120}
# asks TEXT: for fused multiplications, in any variant.
asks() {
    kernel_list "$1" | ${AWK:-awk} -v text="$1" -v top="$srcdir" \
        -f "$srcdir/tests/kernel/batch.awk" >"$tmp/all.c"
    clang -x cuda -nocudainc -nocudalib --cuda-device-only -E -DWG=256 \
        -DWIDTH=4 "-I$srcdir" "$tmp/all.c" 2>/dev/null |
        grep -q '__builtin_fmaf('
}

# registers: the most that an entry takes, of ptxas's report on standard input.
registers() {
    sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' | sort -n | tail -n 1
}

for text in ${PTXAS_TEXTS:-$texts}; do
    shipped "$text" >"$tmp/all.ptx"
    entries=$(grep -c '^\.visible \.entry' "$tmp/all.ptx")
    [ "$entries" -eq "$(kernel_list "$text" | grep -c '')" ]
    tap_ok $? "$text: $entries variants ship"
    fused=$(grep -c 'fma\.rn' "$tmp/all.ptx")
    [ "$fused" -eq 0 ] || asks "$text"
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
