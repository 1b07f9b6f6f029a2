#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mlp.sh - the example of Keras's guide keeps its promises: on the digits, written
# as IDX files, mixed precision is as good as float32, a loop of one's own does
# what the trainer does, and files that are no IDX files are refused. With
# SSQ_TEST_FULL=1 also Fashion-MNIST, where Debian's dataset-fashion-mnist is.

. "${srcdir:-.}/tests/lint/tap.sh"

mlp=$builddir/examples/mlp/mlp
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE

# idx FIRST LAST PART: these lines of the digits. A pixel of 0..16 becomes one of
# 0..255.
idx() {
    for what in images labels; do
        [ $what = images ] && name=images-idx3-ubyte || name=labels-idx1-ubyte
        gzip -dc "$srcdir/examples/data/digits.csv.gz" | LC_ALL=C $AWK -F , \
            -v first="$1" -v last="$2" -v what=$what '
            function word(n) {
                printf "%c%c%c%c", int(n / 16777216) % 256, \
                    int(n / 65536) % 256, int(n / 256) % 256, n % 256
            }
            BEGIN {
                printf "%c%c%c%c", 0, 0, 8, what == "images" ? 3 : 1
                word(last - first + 1)
                if (what == "images") {
                    word(8)
                    word(8)
                }
            }
            NR < first || NR > last { next }
            what == "labels" { printf "%c", $65 + 0 }
            what == "images" {
                for (i = 1; i <= 64; i++)
                    printf "%c", $i == 16 ? 255 : $i * 16
            }' | gzip -n >"$tmp/data/$3-$name.gz"
    done
}
mkdir "$tmp/data"
idx 1 1500 train
idx 1501 1797 t10k
bytes=$(gzip -dc "$tmp/data/train-images-idx3-ubyte.gz" | wc -c)
[ "$bytes" -eq $((16 + 1500 * 64)) ]
tap_ok $? "the digits as an IDX file: $bytes bytes"

# run ARGUMENTS...: the last line is in $line.
run() {
    "$mlp" --quiet --data "$tmp/data" --batch 64 --units 48 --epochs 8 --lr 0.004 \
        "$@" >"$tmp/out" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
    line=$(tail -n 1 "$tmp/out")
}
# accuracy, and float32's behind it
numbers() {
    echo "$line" | sed -n 's/.*accuracy \([0-9.]*\)% (float32 \([0-9.]*\)%).*/\1 \2/p'
}

for policy in mixed_float16 mixed_bfloat16; do
    run --device reference --policy $policy --compare --log "$tmp/$policy"
    set -- $(numbers) 0 0
    awk "BEGIN { exit !($1 >= 88 && $2 >= 88 && $1 - $2 < 2 && $2 - $1 < 2) }"
    tap_ok $? "$policy: $1 %, float32 $2 %: at least 88, at most 2 apart"
done
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

# Small batches: 1500 = 11 * 133 + 37, and one of 1.
run --device reference --batch 133 --epochs 1
echo "$line" | grep -q ', 12 steps,'
tap_ok $? 'the last batch of an epoch may be smaller'

# refused STATUS TEXT ARGUMENTS...
refused() {
    wanted=$1 text=$2
    shift 2
    "$mlp" --device reference --epochs 1 "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$wanted" ] && grep -q "$text" "$tmp/err"
    tap_ok $? "$* ends in $wanted and says $text" || sed 's/^/# /' "$tmp/err"
}
refused 2 '0 units' --units 0
refused 2 'bad option --layers' --layers 2
refused 1 'no-such-folder' --data "$tmp/no-such-folder"

# broken TEXT COMMAND: the training images, as COMMAND makes them of the good
# ones.
broken() {
    cp -r "$tmp/data" "$tmp/broken"
    gzip -dc "$tmp/data/train-images-idx3-ubyte.gz" | eval "$2" \
        >"$tmp/broken/train-images-idx3-ubyte.gz"
    refused 1 "$1" --data "$tmp/broken"
    rm -r "$tmp/broken"
}
broken 'ends in its head' 'head -c 9'
broken 'ends too early' 'head -c 5000'
broken 'more than it says' 'cat - "$tmp/out"; echo more'
broken 'no IDX file of images' 'gzip -dc "$tmp/data/t10k-labels-idx1-ubyte.gz"'
broken 'over 2^33' '{ head -c 4 && printf "\377\377\377\377\177\377\377\377\177\377\377\377"; }'
broken 'other labels' 'gzip -dc "$tmp/data/t10k-images-idx3-ubyte.gz"'

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
tap_done 15
