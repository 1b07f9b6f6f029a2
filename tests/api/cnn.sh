#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cnn.sh - the convolutional example keeps its promises: accuracy, and how near
# mixed_float16 stays to float32. One seed and eight epochs; five and twelve
# with SSQ_TEST_FULL=1. With SSQ_TEST_SHORT=1, under a checker that is twenty
# times slower, an epoch must end, and the result is not checked.

. "${srcdir:-.}/tests/lint/tap.sh"

cnn=$builddir/examples/cnn-explicit/cnn-explicit
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
seeds=1 less='--epochs 8'
[ "${SSQ_TEST_SHORT-}" != 1 ] || less='--epochs 1'
[ "${SSQ_TEST_FULL-}" != 1 ] || seeds='1 2 3 4 5' less=

for seed in $seeds; do
    "$cnn" --quiet --compare --device reference --seed "$seed" $less \
        >"$tmp/out" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
    sed -n 's/.*accuracy \([0-9.]*\)% (float32 \([0-9.]*\)%), .* steps, \([0-9]*\) skipped.*/\1 \2 \3/p' \
        "$tmp/out" >>"$tmp/all"
    sed 's/^/# /' "$tmp/out"
done
means=$(awk '{ half += $1; full += $2; skipped += $3 }
    END { if (NR) printf "%.3f %.3f %d %d", half / NR, full / NR, skipped, NR }' \
    "$tmp/all")
set -- $means
tap_ok "$(($(echo $seeds | wc -w) != ${4:-0}))" "all runs ended: ${4:-0}"
[ "${SSQ_TEST_SHORT-}" != 1 ] || {
    for what in '95 % are right' 'near float32' 'the scale overflowed'; do
        tap_skip 'SSQ_TEST_SHORT=1' "$what"
    done
    tap_done 4
    exit
}
awk "BEGIN { exit !(${1:-0} >= 95) }"
tap_ok $? "mixed_float16: accuracy ${1:-0} %, at least 95 %"
awk "BEGIN { d = ${1:-0} - ${2:-100}; exit !(d <= 0.7 && d >= -0.7) }"
tap_ok $? "within 0.7 points of float32: ${2:-none} %"
tap_ok "$((${3:-0} < 2))" "the loss scale overflowed: ${3:-0} steps were skipped"
tap_done 4
