#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh - each example learns on cpu in mixed precision as well as in
# float32, and refuses an unknown option. make check-full runs digits.sh, mlp.sh,
# cnn.sh, simple_cnn.sh, amp_loop.sh and gpt.sh, which test the examples on other
# devices and with all their options.

. "${srcdir:-.}/tests/lint/tap.sh"

examples=$builddir/examples
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
. "${srcdir:-.}/tests/api/idx.sh"
cat "$srcdir/COPYING" >"$tmp/text"

# run PROGRAM ARGUMENTS...: the last line is in $line.
run() {
    program=$1
    shift
    "$examples/$program/$program" --quiet "$@" >"$tmp/out" 2>"$tmp/err" ||
        sed 's/^/# /' "$tmp/err"
    line=$(tail -n 1 "$tmp/out")
}

# near PERCENT MOST: the losses of $line are below MOST and at most so far apart.
near() {
    set -- "$@" $(echo "$line" | sed -n \
        's/.*loss \([0-9.]*\) (float32 \([0-9.]*\)).*/\1 \2/p')
    [ $# -eq 4 ] && ${AWK:-awk} "BEGIN {
        d = 100 * ($3 / $4 - 1); exit !(d <= $1 && d >= -$1 && $3 < $2) }"
}

for policy in mixed_float16 mixed_bfloat16; do
    run digits --device cpu --policy $policy --compare
    within 0.7 91
    tap_ok $? "digits: at least 91 %, at most 0.7 from float32: $line"
    run mlp --device cpu --policy $policy --compare --data "$tmp/data" \
        --batch 64 --units 48 --epochs 8 --lr 0.004
    within 2 88
    tap_ok $? "mlp: at least 88 %, at most 2 from float32: $line"
done
run cnn --device cpu --compare --data "$tmp/data" --batch 16 --epochs 12 \
    --lr 0.01
within 4 90
tap_ok $? "cnn: at least 90 %, at most 4 from float32: $line"
run amp-loop --device cpu --compare --epochs 3
near 5 0.2
tap_ok $? "amp-loop: within 5 % of float32: $line"
run gpt --device cpu --policy mixed_bfloat16 --compare --data "$tmp/text" \
    --epochs 1 --accumulate 1 --layers 2 --heads 2 --width 32 --block 32 \
    --batch 32 --steps 100 --warmup 50
near 1 3.4
tap_ok $? "gpt: within 1 % of float32: $line"
run cnn-explicit --device cpu --compare --epochs 4 --seed 1
within 2 92
tap_ok $? "cnn-explicit: at least 92 %, at most 2 from float32: $line"

# The demo has only the kernels that digits runs by default, and the self-test,
# which is run if no cache says that it passed.
SSQ_CACHE=0 "$examples/digits/demo" --device cpu --epochs 2 --compare \
    >"$tmp/demo" 2>&1
"$examples/digits/digits" --device cpu --epochs 2 --compare >"$tmp/out" 2>&1
grep -q 'accuracy' "$tmp/out" && cmp "$tmp/demo" "$tmp/out" >/dev/null
tap_ok $? 'the demo prints what digits prints' || sed 's/^/# /' "$tmp/demo"
"$examples/digits/demo" --device cpu --epochs 1 --activation sigmoid \
    >"$tmp/out" 2>&1
[ $? -eq 1 ] && grep -q 'cpu: kernel unary is not linked into this program' \
    "$tmp/out"
tap_ok $? 'the demo names a kernel that it lacks' || sed 's/^/# /' "$tmp/out"

# A loss scale of 1 loses what a dynamic one keeps.
deep='--activation sigmoid --layers 5 --batch 50 --epochs 20 --lr 0.01
    --loss-weight 0.0001 --device cpu --seed 1'
run digits $deep
dynamic=$(echo "$line" | sed -n 's/.*test accuracy \([0-9.]*\)%.*/\1/p')
run digits $deep --loss-scale 1
one=$(echo "$line" | sed -n 's/.*test accuracy \([0-9.]*\)%.*/\1/p')
${AWK:-awk} "BEGIN { exit !(${one:-100} <= ${dynamic:-0} - 50) }"
tap_ok $? "deep and faint: a loss scale of 1 $one %, a dynamic one $dynamic %"

# The smallest transformer, the same on guard; stopped, and resumed there.
tiny='--layers 1 --heads 2 --width 16 --block 16 --batch 4 --steps 6
    --accumulate 2 --warmup 2 --dropout 0.1 --epochs 3'
run gpt --data "$tmp/text" --device reference $tiny --log "$tmp/whole"
whole=$line
run gpt --data "$tmp/text" --device reference $tiny --stop 2 --save "$tmp/run" \
    --log "$tmp/first"
run gpt --data "$tmp/text" --device guard $tiny --resume "$tmp/run" \
    --log "$tmp/second"
[ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$whole" ] &&
    { cat "$tmp/first" && sed 1d "$tmp/second"; } | cmp - "$tmp/whole" \
        >"$tmp/out" 2>&1
tap_ok $? 'gpt: --save, and --resume elsewhere: the same log and line' ||
    printf '# %s\n# %s\n' "$whole" "$line"

for program in digits mlp cnn amp-loop gpt cnn-explicit; do
    "$examples/$program/$program" --no-such-option 3 >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q 'bad option --no-such-option' "$tmp/err"
    tap_ok $? "$program: a bad option is refused" || sed 's/^/# /' "$tmp/err"
done
tap_done 18
