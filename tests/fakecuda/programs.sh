#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# programs.sh - the four programs of examples/ at their smallest, with the
# stand-in as the driver: as many steps as on the reference, and the loss within
# the margin that float16 has from float32 there.

. "${srcdir:-.}/tests/lint/tap.sh"

if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'the programs on cuda:0'
    tap_done 0
    exit 0
fi
. "$srcdir/tests/api/idx.sh"
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
idx 1 256 train
idx 257 320 t10k
cat "$srcdir/COPYING" >"$tmp/text"
mkdir "$tmp/modules"
ln -s "$(cd "$builddir" && pwd)/.libs/cuda.so" "$tmp/modules/cuda.so"

# run PROGRAM DEVICE ARGUMENTS...: the last line of its log is in $row.
run() {
    program=$1 device=$2
    shift 2
    "$builddir/examples/$program/$program" --quiet --device "$device" \
        --epochs 1 --log "$tmp/log" "$@" >"$tmp/out" 2>&1 ||
        sed 's/^/# /' "$tmp/out"
    row=$(tail -n 1 "$tmp/log")
    rm -f "$tmp/log"
}

# likewise PROGRAM ARGUMENTS...: steps, scale and skipped steps are the same, and
# the loss within 1 %.
likewise() {
    program=$1
    shift
    run "$program" reference "$@"
    wanted=$row
    : >"$tmp/stats"
    paths=$LD_LIBRARY_PATH
    export LD_LIBRARY_PATH="$builddir/tests/fakecuda:$paths" \
        SSQ_MODULE_PATH="$tmp/modules" FAKECUDA_STATS="$tmp/stats"
    run "$program" cuda:0 "$@"
    LD_LIBRARY_PATH=$paths
    printf '%s\n' "$wanted" "$row" | ${AWK:-awk} -F '\t' '
        NR == 1 { split($0, was, "\t") }
        NR == 2 { exit !(was[2] > 0 && $2 == was[2] && $5 == was[5] &&
            $6 == was[6] && $3 <= was[3] * 1.01 && $3 >= was[3] * 0.99) }'
    status=$?
    launches=$(${AWK:-awk} '{ n += $4 } END { print n + 0 }' "$tmp/stats")
    [ "$status" -eq 0 ] && [ "$launches" -gt 10 ]
    tap_ok $? "$program: $(echo "$row" | cut -f 2,3 | tr '\t' ' ') (steps," \
        "loss), $launches launches" ||
        printf '# reference %s\n# cuda:0 %s\n' "$wanted" "$row"
}

: "${LD_LIBRARY_PATH=}"
likewise gpt --layers 1 --heads 2 --width 16 --block 8 --batch 2 --steps 4 \
    --warmup 1 --sample 0 --data "$tmp/text"
likewise amp-loop
likewise mlp --units 16 --batch 64 --data "$tmp/data"
likewise cnn --batch 64 --data "$tmp/data"
tap_done 4
