#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mlp.sh - the example of Keras's guide keeps its promises: on the digits, written
# as IDX files, mixed precision is as good as float32, a loop of one's own does
# the trainer's steps, and files that are not IDX files are refused. With
# SSQ_TEST_FULL=1 also Fashion-MNIST, where Debian's dataset-fashion-mnist is.

. "${srcdir:-.}/tests/lint/tap.sh"

mlp=$builddir/examples/mlp/mlp
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE

. "${srcdir:-.}/tests/api/idx.sh"
bytes=$(gzip -dc "$tmp/data/train-images-idx3-ubyte.gz" | wc -c)
[ "$bytes" -eq $((16 + 1500 * 64)) ]
tap_ok $? "the digits as an IDX file: $bytes bytes"

# run ARGUMENTS...: the last line is in $line.
run() {
    "$mlp" --quiet --data "$tmp/data" --batch 64 --units 48 --epochs 8 --lr 0.004 \
        "$@" >"$tmp/out" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
    line=$(tail -n 1 "$tmp/out")
}

for policy in mixed_float16 mixed_bfloat16; do
    run --device reference --policy $policy --compare --plot "$tmp/$policy"
    within 2 88
    tap_ok $? "$policy: at least 88 %, at most 2 points from float32: $line"
    [ $policy != mixed_float16 ] || drawn=$line
done
no_fast 'on a fast device' || {
    run --device "$fast" --compare
    within 2 88
    tap_ok $? "at least 88 %, at most 2 points from float32: $line"
}
run --device reference --log "$tmp/plain"
plain=$line
run --device reference --custom --log "$tmp/custom"
[ "$line" = "$plain" ] && cmp "$tmp/plain" "$tmp/custom" >"$tmp/out" 2>&1
tap_ok $? 'a loop of one'"'"'s own: the same line and log' ||
    printf '# %s\n# %s\n' "$plain" "$line"
run --device guard --log "$tmp/guard"
[ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$plain" ] &&
    cmp "$tmp/plain" "$tmp/guard" >"$tmp/out" 2>&1
tap_ok $? 'guard: the same line and log' || printf '# %s\n# %s\n' "$plain" "$line"

# The plot: three panels, two runs; the picture changes nothing.
[ "$(echo "$drawn" | sed 's/ (float32 [0-9.]*%)//')" = "$plain" ] &&
    [ "$(grep -c 'class="title"' "$tmp/mixed_float16")" -eq 3 ] &&
    [ "$(grep -c 'class="run"' "$tmp/mixed_float16")" -eq 5 ] &&
    [ "$(grep -c 'class="x".*steps' "$tmp/mixed_float16")" -eq 3 ] &&
    [ "$(grep 'class="run"' "$tmp/mixed_float16" | head -n 1 | tr -cd L | wc -c)" -gt 90 ] &&
    grep -q '>float32</text>' "$tmp/mixed_float16" &&
    [ "$(tail -n 1 "$tmp/mixed_float16")" = '</svg>' ] &&
    ! grep -q 'nan\|inf' "$tmp/mixed_float16"
tap_ok $? "--plot draws loss, accuracy and loss scale of both runs"
# The bar is for terminals.
"$mlp" --data "$tmp/data" --epochs 1 --device reference >"$tmp/out" 2>"$tmp/err"
[ ! -s "$tmp/err" ] &&
    grep -q '^\[#*\] epoch 1/1  train loss [0-9.]*  test loss [0-9.]* ' "$tmp/out"
tap_ok $? 'without a terminal a line for each epoch, and no bar'

# The training loss: the mean of each epoch, which falls as the test set's does.
awk -F '\t' 'NR == 1 { exit $7 != "train_loss" }' "$tmp/plain" && awk -F '\t' '
    NR == 2 { first = $7; if ($7 < 0.5 || $7 > 2.4) exit 1 }
    NR > 2 { if (!($7 > 0 && $7 < last)) exit 1 }
    { last = $7 }
    END { exit !(NR == 9 && last < 0.3 * first) }' "$tmp/plain"
tap_ok $? "the train loss falls over eight epochs: $(cut -f 7 "$tmp/plain" | tr '\n' ' ')"

# A static scale, by the policy's text, an option or the scaler's text.
run --device reference --epochs 1 --policy mixed_float16,loss_scale=512
static=$line
run --device reference --epochs 1 --loss-scale 512
option=$line
run --device reference --epochs 1 --scaler fixed,init_scale=512
echo "$static" | grep -q ', loss scale 512$' && [ "$line" = "$option" ] &&
    [ "$(echo "$static" | sed 's/,loss_scale=512 / /')" = "$line" ]
tap_ok $? "a static scale in three ways: $static" || printf '# %s\n# %s\n' "$option" "$line"
if command -v script >"$tmp/out"; then
    script -qec "\"$mlp\" --data \"$tmp/data\" --epochs 1 --device reference" \
        /dev/null >"$tmp/out" 2>&1 </dev/null
    grep -q 'step 2/3' "$tmp/out"
    tap_ok $? 'on a terminal a bar of the steps'
else
    tap_skip 'no script(1)' 'on a terminal a bar of the steps'
fi

# Small batches: 1500 = 11 * 133 + 37, and one of 1.
run --device reference --batch 133 --epochs 1
echo "$line" | grep -q ', 12 steps,'
tap_ok $? 'the last batch of an epoch may be smaller'

# --stop in the middle, and --resume: the lines of one run, and the same end.
run --device reference --log "$tmp/whole" --epochs 4 --policy mixed_float16
whole=$line
run --device reference --log "$tmp/first" --epochs 4 --stop 1 --save "$tmp/run"
run --device guard --log "$tmp/second" --epochs 4 --resume "$tmp/run"
[ "$(echo "$line" | sed 's/ on guard:/ on reference:/')" = "$whole" ] &&
    { cat "$tmp/first" && sed 1d "$tmp/second"; } | cmp - "$tmp/whole" \
        >"$tmp/out" 2>&1
tap_ok $? '--save, and --resume elsewhere: the same log and line' ||
    printf '# %s\n# %s\n' "$whole" "$line"

# refused STATUS TEXT ARGUMENTS...
refused() {
    wanted=$1 text=$2
    shift 2
    "$mlp" --device reference --epochs 1 "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$wanted" ] && grep -q "$text" "$tmp/err"
    tap_ok $? "$* ends in $wanted and says $text" || sed 's/^/# /' "$tmp/err"
}
refused 2 'bad option --units 0' --units 0
refused 2 'bad option --layers' --layers 2
refused 1 'no-such-folder' --data "$tmp/no-such-folder"
refused 1 'no-such-dir' --data "$tmp/data" --plot "$tmp/no-such-dir/plot.svg"
refused 2 'bad option --units -1' --units -1
refused 2 'bad option --loss-weight' --loss-weight 0.5
refused 1 'has loss_scale, and the scaler is' --data "$tmp/data" \
    --policy mixed_float16,loss_scale=512 --loss-scale 128
refused 1 'steps without the trainer' --data "$tmp/data" --custom --save "$tmp/no"
refused 1 'no-such-file' --data "$tmp/data" --resume "$tmp/no-such-file"
refused 1 'the policy is mixed_float16 in the file' --data "$tmp/data" \
    --resume "$tmp/run" --policy float32
refused 1 'whole epochs of 3, and less than 1' --data "$tmp/data" --units 48 \
    --resume "$tmp/run"
refused 1 '"dense_1.weight" is .*48,64.*expected .*47,64' --data "$tmp/data" \
    --resume "$tmp/run" --units 47 --epochs 4 --batch 64

# broken TEXT COMMAND: the training images, as COMMAND makes them of the good
# ones.
broken() {
    cp -r "$tmp/data" "$tmp/broken"
    gzip -dc "$tmp/data/train-images-idx3-ubyte.gz" | eval "$2" \
        >"$tmp/broken/train-images-idx3-ubyte.gz"
    refused 1 "$1" --data "$tmp/broken"
    rm -r "$tmp/broken"
}
broken 'it ends in its header' 'head -c 9'
broken 'its header promises .* bytes of values, it has' 'head -c 5000'
broken 'its header promises .* bytes of values, it has' 'cat - "$tmp/out"; echo more'
broken 'it has u8 of rank 1' 'gzip -dc "$tmp/data/t10k-labels-idx1-ubyte.gz"'
broken 'of values or more' '{ head -c 4 && printf "\377\377\377\377\177\377\377\377\177\377\377\377"; }'
# Labels like EMNIST's letters: row 2 has 26.
cp -r "$tmp/data" "$tmp/broken"
gzip -d "$tmp/broken/train-labels-idx1-ubyte.gz"
printf '\032' | dd of="$tmp/broken/train-labels-idx1-ubyte" bs=1 seek=10 \
    conv=notrunc 2>"$tmp/err"
refused 1 'labels-idx1-ubyte: row 2 has the label 26, expected 0 to 9, of 10' \
    --data "$tmp/broken"
rm -r "$tmp/broken"
broken 'images and .* labels' 'gzip -dc "$tmp/data/t10k-images-idx3-ubyte.gz"'

# median DEVICE POLICY: of three seeds.
median() {
    for seed in 1 2 3; do
        "$mlp" --quiet --data "$fashion" --device "$1" --policy "$2" \
            --seed $seed
    done | sed -n 's/.*accuracy \([0-9.]*\)%.*/\1/p' | sort -n | sed -n 2p
}
fashion=/usr/share/datasets/fashion-mnist
if [ "${SSQ_TEST_FULL-}" = 1 ] && [ -d $fashion ]; then
    f32=$(median auto float32)
    f16=$(median auto mixed_float16)
    awk "BEGIN { exit !($f16 >= 83 && $f16 - $f32 <= 1 && $f32 - $f16 <= 1) }"
    tap_ok $? "Fashion-MNIST: $f16 %, float32 $f32 %: at least 83, at most 1 apart"
else
    tap_skip 'needs SSQ_TEST_FULL=1 and dataset-fashion-mnist' \
        'Fashion-MNIST: at least 83 %, at most 1 from float32'
fi
tap_done 32
