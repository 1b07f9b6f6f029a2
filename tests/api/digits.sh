#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# digits.sh - the digits example keeps its promises: accuracy over two seeds, a
# loss scale that moves, the same run replayed and on guard, and a loss scale of
# 1 that loses. With SSQ_TEST_FULL=1 five seeds, and two where the scale matters
# most. doc/experiments.md has the tables.

. "${srcdir:-.}/tests/lint/tap.sh"

digits=$builddir/examples/digits/digits
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE

# digits_run ARGUMENTS...: the last line is in $line, accuracy in $accuracy.
digits_run() {
    "$digits" --quiet "$@" >"$tmp/out" 2>"$tmp/err" || {
        sed 's/^/# /' "$tmp/err"
        line= accuracy=
        return 1
    }
    line=$(tail -n 1 "$tmp/out")
    accuracy=$(echo "$line" | sed -n 's/.*test accuracy \([0-9.]*\)%.*/\1/p')
}

# holds CONDITION: of awk.
holds() {
    awk "BEGIN { exit !($1) }"
}

# mean FILE
mean() {
    awk '{ sum += $1 } END { if (NR) printf "%.3f", sum / NR }' "$1"
}

# Every policy by some seeds; the logs of mixed_float16 show the loss scale.
seeds='1 2' deep_seeds=1
[ "${SSQ_TEST_FULL-}" != 1 ] || seeds='1 2 3 4 5' deep_seeds='1 2'
count=$(echo $seeds | wc -w)
for policy in float32 mixed_float16 mixed_bfloat16; do
    for seed in $seeds; do
        digits_run --device reference --policy $policy --seed $seed \
            --log "$tmp/$policy.$seed" && echo "$accuracy" >>"$tmp/$policy"
        [ "$policy.$seed" != mixed_float16.1 ] || first=$line
    done
    m=$(mean "$tmp/$policy")
    holds "$(grep -c . "$tmp/$policy") == $count && $m >= 91"
    tap_ok $? "$policy: accuracy $m % over $count seeds, at least 91 %"
done
f32=$(mean "$tmp/float32")
for policy in mixed_float16 mixed_bfloat16; do
    d=$(awk "BEGIN { printf \"%+.3f\", $(mean "$tmp/$policy") - $f32 }")
    holds "$d <= 0.5 && $d >= -0.5"
    tap_ok $? "$policy: $d points from float32, at most 0.5 apart"
done

# A picture: loss, accuracy and scale of the run, loss and accuracy of float32.
digits_run --device reference --epochs 2 --compare --plot "$tmp/plot.svg" &&
    [ "$(grep -c 'class="title"' "$tmp/plot.svg")" -eq 3 ] &&
    [ "$(grep -c 'class="run"' "$tmp/plot.svg")" -eq 5 ] &&
    ! grep -q 'nan\|inf' "$tmp/plot.svg"
tap_ok $? '--plot draws loss, accuracy and loss scale of both runs'

# The scale's rises from epoch to epoch, from 65536 on, and the skips.
for seed in $seeds; do
    moves=$(awk -F '\t' 'NR == 1 { last = 65536; next }
        $5 > last { up++ } { last = $5; skipped = $6 }
        END { print up + 0, skipped + 0 }' "$tmp/mixed_float16.$seed")
    [ "${moves% *}" -ge 2 ] && [ "${moves#* }" -ge 2 ]
    tap_ok $? "seed $seed: the scale rose ${moves% *} times," \
        "${moves#* } steps were skipped; at least 2 each"
done

# same NAME ARGUMENTS...: line and log are the plain run's.
same() {
    what=$1
    shift
    digits_run --seed 1 --log "$tmp/log" "$@"
    [ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$first" ] &&
        cmp "$tmp/log" "$tmp/mixed_float16.1" >"$tmp/out" 2>&1
    tap_ok $? "$what gives the same line and log" ||
        printf '# %s\n# %s\n' "$first" "$line"
}
same 'a replayed graph' --device reference --graph
same 'guard' --device guard
same 'a replayed graph on guard' --device guard --graph

# Where the loss scale matters: see doc/experiments.md.
deep='--activation sigmoid --layers 5 --batch 50 --epochs 20 --lr 0.01
    --loss-weight 0.0001 --statistics --device reference'
for seed in $deep_seeds; do
    digits_run $deep --seed $seed --policy float32 &&
        echo "$accuracy" >>"$tmp/deep.float32"
    digits_run $deep --seed $seed && echo "$accuracy" >>"$tmp/deep.dynamic"
    grep 'fc1\.weight' "$tmp/out" >"$tmp/dynamic"
    digits_run $deep --seed $seed --loss-scale 1 &&
        echo "$accuracy" >>"$tmp/deep.one"
    grep 'fc1\.weight' "$tmp/out" >"$tmp/one"
done
f32=$(mean "$tmp/deep.float32")
dynamic=$(mean "$tmp/deep.dynamic")
one=$(mean "$tmp/deep.one")
holds "$f32 >= 80 && $dynamic - $f32 <= 1 && $dynamic - $f32 >= -1"
tap_ok $? "deep and faint: float32 $f32 %, a dynamic scale $dynamic %"
holds "$one <= $dynamic - 50"
tap_ok $? "deep and faint: a loss scale of 1 $one %, at least 50 points less"
grep -q '100\.0% zero' "$tmp/one" && ! grep -q '100\.0% zero' "$tmp/dynamic"
tap_ok $? "gradients of the first layer: $(sed 's/.* \([0-9.]*% zero\).*/\1/' \
    "$tmp/one") at scale 1, $(sed 's/.* \([0-9.]*% zero\).*/\1/' \
    "$tmp/dynamic") with a dynamic one"

# The output of the demo, and the arguments that it refuses.
"$digits" --device reference --epochs 2 --compare >"$tmp/out" 2>&1
tail -n 1 "$tmp/out" | grep -qxE 'digits mixed_float16 on reference: test accuracy [0-9.]+% \(float32 [0-9.]+%\), [0-9]+ steps, [0-9]+ skipped, loss scale [0-9e.+]+'
tap_ok $? "--compare ends in the demo's line: $(tail -n 1 "$tmp/out")"
[ "$(grep -c '^\[' "$tmp/out")" -eq 4 ]
tap_ok $? 'one line of progress per epoch where there is no terminal'

# refused STATUS TEXT ARGUMENTS...
refused() {
    wanted=$1 text=$2
    shift 2
    "$digits" "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$wanted" ] && grep -q "$text" "$tmp/err"
    tap_ok $? "$* ends in $wanted and says $text" || sed 's/^/# /' "$tmp/err"
}
refused 2 'bad option --speed' --speed 9
refused 2 'no value' --seed
refused 2 '0 rows a batch' --batch 0
refused 1 'mixed_float8' --policy mixed_float8
refused 1 'reference' --device quantum:0
refused 1 'tensorflow' --scaler tensorflow
refused 1 'no-such-file' --data "$tmp/no-such-file"
gzip -dc "$srcdir/examples/data/digits.csv.gz" | sed '3s/,[0-9]*$/,26/' \
    >"$tmp/letters.csv"
refused 1 'line 3 has the label 26, expected 0 to 9, of 10 classes' \
    --data "$tmp/letters.csv"
refused 1 'no-such-dir' --log "$tmp/no-such-dir/log.tsv" --epochs 1
tap_run '--help is answered well' "$digits" --help
tap_done 24
