#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# amp_loop.sh - torch.amp's loop: mixed precision learns what float32 does, an
# overflow is skipped by both optimizers, and every line of the guide's page is
# in the program.

. "${srcdir:-.}/tests/lint/tap.sh"

loop=$builddir/examples/amp-loop/amp-loop
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
. "${srcdir:-.}/tests/api/idx.sh"

# run ARGUMENTS...: the last line is in $line.
run() {
    "$loop" --quiet --epochs 3 "$@" >"$tmp/out" 2>"$tmp/err" ||
        sed 's/^/# /' "$tmp/err"
    line=$(tail -n 1 "$tmp/out")
}

# near PERCENT: the loss is below 0.2, a quarter of the first epoch's, and so far
# from float32's.
near() {
    set -- "$1" $(echo "$line" | sed -n \
        's/.*loss \([0-9.]*\) (float32 \([0-9.]*\)).*/\1 \2/p')
    [ $# -eq 3 ] && ${AWK:-awk} "BEGIN {
        d = 100 * ($2 / $3 - 1); exit !(d <= $1 && d >= -$1 && $2 < 0.2) }"
}

run --device reference --compare --plot "$tmp/plot.svg"
plain=$line
near 5
tap_ok $? "within 5 % of float32: $line"
[ "$(grep -c 'class="run"' "$tmp/plot.svg")" -eq 3 ]
tap_ok $? '--plot draws both losses and the scale'
run --device guard --compare
[ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$plain" ]
tap_ok $? 'guard: the same line' || printf '# %s\n' "$line"
no_fast 'on a fast device' || for policy in mixed_float16 mixed_bfloat16; do
    run --device "$fast" --policy $policy --compare
    near 5
    tap_ok $? "within 5 % of float32: $line"
done
run --device reference --scaler megatron --compare --log "$tmp/log"
skipped=$(echo "$line" | sed -n 's/.* \([0-9]*\) skipped.*/\1/p')
near 12 && [ "${skipped:-0}" -ge 2 ]
tap_ok $? "a scale that begins at 2^32: $line"
[ "$(grep -c '' "$tmp/log")" -eq 4 ]
tap_ok $? '--log has a line for each epoch'

# The guide's page: its right column is in the program.
tr -d ' \n\t' <"$srcdir/examples/amp-loop/amp_loop.c" >"$tmp/program"
sed -n 's/^| .*| `\(.*\)` |$/\1/p' "$srcdir/doc/guide/amp-loop.md" >"$tmp/lines"
while IFS= read -r row; do
    part=$(echo "$row" | tr -d ' ')
    grep -qF -e "$part" "$tmp/program" || echo "$row"
done <"$tmp/lines" >"$tmp/out"
tap_empty "the $(grep -c '' "$tmp/lines") lines of the guide are in the program"
[ "$(grep -c '' "$tmp/lines")" -ge 20 ]
tap_ok $? 'the guide has lines'

"$loop" --device reference --layers 3 >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'bad option --layers' "$tmp/err"
tap_ok $? 'an option that it has not is refused'
"$loop" --device reference --scaler none-such >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'none-such' "$tmp/err"
tap_ok $? 'a scaler that there is not is refused by name'
tap_done 10
