#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# simple_cnn.sh - fastai's simple_cnn by a tape keeps its promises: on sevens and
# nines of the digits, as IDX files, mixed precision is as good as float32, and
# its options do what they say. With SSQ_TEST_FULL=1 also on Fashion-MNIST's
# sneakers and boots, where Debian's dataset-fashion-mnist is: one epoch, 90 %.

. "${srcdir:-.}/tests/lint/tap.sh"

cnn=$builddir/examples/cnn/cnn
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
. "${srcdir:-.}/tests/api/idx.sh"

# run ARGUMENTS...: the last line is in $line.
run() {
    "$cnn" --quiet --data "$tmp/data" --batch 16 --epochs 12 --lr 0.01 "$@" \
        >"$tmp/out" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
    line=$(tail -n 1 "$tmp/out")
}

for policy in mixed_float16 mixed_bfloat16; do
    run --device reference --policy $policy --compare
    within 4 90
    tap_ok $? "$policy: at least 90 %, at most 4 points from float32: $line"
done
no_fast 'on a fast device' || {
    run --device "$fast" --compare
    within 4 90
    tap_ok $? "at least 90 %, at most 4 points from float32: $line"
}
run --device reference --log "$tmp/plain"
plain=$line
run --device guard --log "$tmp/guard"
[ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$plain" ] &&
    cmp "$tmp/plain" "$tmp/guard" >"$tmp/out" 2>&1
tap_ok $? 'guard: the same line and log' || printf '# %s\n# %s\n' "$plain" "$line"
run --device reference --flat-master --log "$tmp/flat"
[ "$line" = "$plain" ] && cmp "$tmp/plain" "$tmp/flat" >"$tmp/out" 2>&1
tap_ok $? 'flat masters: the same line and log' ||
    printf '# %s\n# %s\n' "$plain" "$line"

# changes WHAT LOG ARGUMENTS...: the log is another than the plain run's.
changes() {
    what=$1
    shift
    run --device reference --log "$tmp/log" "$@"
    [ -n "$line" ] && ! cmp -s "$tmp/log" "$tmp/plain"
    tap_ok $? "$what: $line"
}
changes 'a clipped norm' --clip 0.05
changes 'growth after 20 clean steps' --max-noskip 20 --max-scale 1048576
case $line in *'loss scale 1.04858e+06'*) true ;; *) false ;; esac
tap_ok $? 'which stops at --max-scale'
changes 'a scale that begins at --max-scale' --max-scale 1024
case $line in *'loss scale 1024') true ;; *) false ;; esac
tap_ok $? 'and stays'
run --device reference --policy mixed_float16,relu=float32
case $line in *'loss scale 65536'*) true ;; *) false ;; esac
tap_ok $? "a policy's text has the scale of its policy: $line"
run --device reference --loss-fp16
case $line in *accuracy*) true ;; *) false ;; esac
tap_ok $? "the loss from float16 logits: $line"

# refused STATUS TEXT ARGUMENTS...
refused() {
    wanted=$1 text=$2
    shift 2
    "$cnn" --device reference --epochs 1 "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$wanted" ] && grep -q "$text" "$tmp/err"
    tap_ok $? "$* ends in $wanted and says $text" || sed 's/^/# /' "$tmp/err"
}
refused 2 'bad option --units' --units 2
refused 2 'bad option --clip x' --clip x
refused 1 'init_scale\|max_scale' --data "$tmp/data" --max-scale 0
mkdir "$tmp/other"
cp "$tmp/data"/* "$tmp/other"
idx 1 1 train
refused 1 'no image of class 7 or 9' --data "$tmp/data"

# One epoch of the real thing, and how near float32 is.
fashion=/usr/share/datasets/fashion-mnist
if [ "${SSQ_TEST_FULL-}" = 1 ] && [ -d $fashion ]; then
    for options in '--seed 1' '--seed 2' '--seed 3' '--flat-master' \
        '--clip 1' '--max-noskip 20 --max-scale 65536' '--loss-fp16'; do
        line=$("$cnn" --quiet --compare $options | tail -n 1)
        within 1 90
        tap_ok $? "Fashion-MNIST $options: at least 90 %, at most 1 apart: $line"
    done
else
    tap_skip 'needs SSQ_TEST_FULL=1 and dataset-fashion-mnist' \
        'Fashion-MNIST: at least 90 % in one epoch, at most 1 from float32'
fi
tap_done 17
