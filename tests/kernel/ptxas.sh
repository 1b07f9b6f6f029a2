#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptxas.sh - the very PTX that ships assembles for NVIDIA's GPUs, all variants
# of all sources (make check-ptxas): no register is spilled, and only sources
# that ask for fused multiplications have any. Of gemm_mma a multiprocessor
# holds as many groups as the source asks for. It needs ptxas of a toolkit, and
# no GPU. PTXAS_ARCHS="80 90" are some of the generations, PTXAS_TEXTS some of
# them.

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

# Groups of a multiprocessor by its registers, of which a warp takes 8 for each
# item at a time, and by its shared memory, of which a group costs 1 KiB more.
# It reads lines of `ENTRY ARCH ASKED REGISTERS SHARED SPILLED`.
occupancy='
    function less(x, y) { return x < y ? x : y }
    BEGIN {
        shared[75] = 64; shared[80] = 164; shared[90] = shared[100] = 228
        least = 999
    }
    {
        kib = $2 in shared ? shared[$2] : 100 # 8.6, 8.9, 12.0
        groups = less(int(65536 / (256 * int(($4 + 7) / 8) * 8)),
                      int(kib * 1024 / ($5 + 1024)))
        n++
        most = $4 > most ? $4 : most
        least = less(least, groups)
        if ($3 == 0 || groups < $3 || $6 != 0)
            print "# " $0 ": " groups " groups" >"/dev/stderr"
        else
            good++
    }
    END {
        printf "%d variants, at most %d registers, at least %d groups\n", n,
            most, least
        exit n == 0 || good != n
    }'

# mma TEXT: each entry by itself, since they are of two levels.
mma() {
    mkdir "$tmp/mma"
    sed -n "s|^ *{\([0-9]*\), \([0-9]*\), .*/\* $1 .*|\1 \2|p" \
        "$packs/ptx_table.h" >"$tmp/list"
    while read -r at bytes; do
        tail -c "+$((at + 1))" "$packs/ptx.pack" | head -c "$bytes" |
            gzip -dc >"$tmp/mma/$at.ptx"
    done <"$tmp/list"
    for arch in $archs; do
        for entry in "$tmp"/mma/*.ptx; do
            level=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$entry")
            [ "$level" -le "$arch" ] || continue
            ptxas -arch="sm_$arch" -v -o "$tmp/all.cubin" "$entry" \
                >"$tmp/out" 2>&1 || echo 'Used 999 registers' >>"$tmp/out"
            echo "$(basename "$entry" .ptx)" "$arch" \
                "$(sed -n 's/^\.minnctapersm //p' "$entry" | grep . ||
                    echo 0)" "$(registers <"$tmp/out")" \
                "$(sed -n 's/.* \([0-9]*\) bytes smem.*/\1/p' "$tmp/out" |
                    grep . || echo 0)" \
                "$(grep -c '[1-9][0-9]* bytes spill' "$tmp/out")"
        done >"$tmp/used"
        ${AWK:-awk} "$occupancy" "$tmp/used" >"$tmp/groups" 2>"$tmp/said"
        tap_ok $? "$1: sm_$arch: $(cat "$tmp/groups")" || cat "$tmp/said"
    done
}

# Kernels for processors do not ship as PTX.
processors=$(sed -n 's/^processor_sources = //p' "$srcdir/kernels/kernels.mk")
for text in ${PTXAS_TEXTS:-$texts kernels/gemm/gemm_mma.nv}; do
    case " $processors " in *" $text "*) continue ;; esac
    case $text in
    *.nv)
        mma "$text"
        continue
        ;;
    esac
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
