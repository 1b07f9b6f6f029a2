#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_suites.sh - the suites of `sesqui bench`: every kind of case runs and
# has an answer, each form of the report can be read. Times are not checked.

. "${srcdir:-.}/tests/lint/tap.sh"

# bench STATUS WORD...: the rows are in $tmp/rows, the complaint in $tmp/said.
bench() {
    want=$1
    shift
    "$builddir/sesqui" bench "$@" >"$tmp/rows" 2>"$tmp/said"
    [ $? -eq "$want" ]
}

# Lists are of three words, and a suite's own.
suites='gemm memory optimizer ops train'
for suite in $suites; do
    bench 0 "$suite" --list && [ -s "$tmp/rows" ] &&
        ! grep -vE '^[a-z_0-9]+ b?f(16|32)(:b?f(16|32))? [0-9]+(x[0-9]+)*$' \
            "$tmp/rows" >"$tmp/out" && [ -z "$(sort "$tmp/rows" | uniq -d)" ]
    tap_ok $? "$suite has $(grep -c '' "$tmp/rows") cases"
    cat "$tmp/rows" >>"$tmp/listed"
done
for case in 'gemm bf16 4096x4096x4096' 'gemm f32 1000x1003x517' \
    'gemm f16 8x4096x4096' 'gemm f16 128x128x64x64' 'cast bf16:f32 33554432' \
    'adamw f16 4194304x24' 'mlp f32 8192x784x4096x4096x10'; do
    grep -qx "$case" "$tmp/listed"
    tap_ok $? "$case is among them"
done
bench 0 memory --list --op cast && [ "$(grep -c '^cast ' "$tmp/rows")" -eq 6 ] &&
    ! grep -qv '^cast ' "$tmp/rows"
tap_ok $? '--op picks those of an op: casts in all directions'

# Every op of the lists, small: an answer for each line, in its order.
cat >"$tmp/small" <<'END'
gemm f32 64x64x64
gemm bf16 33x65x17x3
gemm f16 1x1x1
copy f16 1001
cast f32:f16 1001
add f16 101
mul f32 101
relu bf16 101
gelu f16 101
silu f16 101
tanh f16 101
sigmoid f16 101
exp f16 101
gelu_backward bf16 101
softmax bf16 10x33
softmax_backward f16 10x33
layer_norm f16 10x33
layer_norm_backward f16 10x33
adamw f16 100x3
adamw bf16 7x1
sum f32 10x11
max f16 10x11
sum_rows f16 10x11
cross_entropy f16 10x33
conv2d f16 2x3x8x4x3
conv2d_data f16 2x3x8x4x3
conv2d_weight f16 2x3x8x4x3
depthwise f32 2x4x8x4x3
max_pool2d f16 2x3x8
avg_pool2d f16 2x3x8
attention f16 1x2x8x4
embedding f16 10x8x20
mlp f16 16x24x32x32x10
cnn bf16 4x28
gpt f32 2x8x1x2x16x11
END
awk '{ print $1 }' "$tmp/listed" | sort -u >"$tmp/ops"
awk '{ print $1 }' "$tmp/small" | sort -u | comm -23 "$tmp/ops" - >"$tmp/out"
tap_empty 'there is a small case of every op'
bench 0 - --device reference --seconds 0.002 <"$tmp/small"
tap_ok $? 'they are answered'
sed -n 's/.*"case": "\([^"]*\)", "runs": [1-9].*"median_s": [0-9].*}$/\1/p' \
    "$tmp/rows" | cmp -s - "$tmp/small"
tap_ok $? 'each with its times' || sed 's/^/# /' "$tmp/rows"
sed -n 's/.*"case": "gemm .*"of_bound": \([^,}]*\).*/\1/p' "$tmp/rows" >"$tmp/bounds"
[ "$(grep -c '' "$tmp/bounds")" -eq 3 ] &&
    awk '$1 > 1 { exit 1 }' "$tmp/bounds"
tap_ok $? 'products are within their bound'

# A line that is not a case is reported, and the next one is answered.
printf '%s\n' 'gemm f32 64x64' 'gemm i32 2x2x2' 'gemm f32 0x1x1' 'gemm' \
    'gemm f32 4x' 'conv2d f32 1x1x4x1x2' 'nothing f32 7' '' \
    'gemm f32 99999999999999999999x1x1' 'add f32 7' >"$tmp/wrong"
bench 0 - --device reference --seconds 0.001 <"$tmp/wrong" &&
    [ "$(grep -c '"skipped": "no ' "$tmp/rows")" -eq 9 ] &&
    tail -n 1 "$tmp/rows" | grep -q '"case": "add f32 7", "runs"'
tap_ok $? 'what is no case is skipped' || sed 's/^/# /' "$tmp/rows"

echo roofs | "$builddir/sesqui" bench - --device reference --threads 1 \
    >"$tmp/rows" 2>&1
grep -qE '"fma_gflops": [0-9.e+]+, "dot_gflops": [0-9.e+]+, "tile_gflops": [0-9.e+]+, "copy_gbytes_s": [0-9.]+}' \
    "$tmp/rows"
tap_ok $? 'roofs are a case' || sed 's/^/# /' "$tmp/rows"

# Two devices in turn.
echo 'gemm f32 8x8x8' | "$builddir/sesqui" bench - --device reference \
    --vs guard >"$tmp/rows" 2>&1
grep -q '"vs": "guard", "vs_median_s": [0-9].*"ratio": [0-9]' "$tmp/rows"
tap_ok $? '--vs has the other one and the ratio' || sed 's/^/# /' "$tmp/rows"

# Where work continues after a call, steps are looked at for waits.
echo 'mlp f16 4x3x2x2' | "$builddir/sesqui" bench - --device guard \
    >"$tmp/rows" 2>&1
grep -Eq '"submissions": [1-9][0-9]*, "host_waits": 0}' "$tmp/rows"
tap_ok $? 'the host waits in no step' || sed 's/^/# /' "$tmp/rows"

# A suite, whose forms all have its cases. So little time that most of them are
# left out.
forms='train --op cnn --device reference --seconds 0.01'
bench 0 $forms --plot "$tmp/roof.svg" &&
    [ "$(grep -c '^reference .* [0-9.]* .*[0-9] %.* [0-9]*  *cnn b*f[0-9]* 64x28$' "$tmp/rows")" -eq 3 ]
tap_ok $? 'a suite as text' || cat "$tmp/said" "$tmp/rows"
tap_run 'a plot that cannot be written is a failure' \
    bench 1 $forms --csv --plot "$tmp/no/such/folder.svg"
[ ! -s "$tmp/rows" ]
tap_ok $? 'before anything is timed'
bench 0 $forms --csv
awk -F , 'NF != 18 { exit 1 } END { exit NR != 4 }' "$tmp/rows"
tap_ok $? 'as CSV: a line of names, and one for each case'
bench 0 $forms --json && [ "$(sed -n '1p;$p' "$tmp/rows" | tr -d '\n')" = '[]' ] &&
    [ "$(grep -c '^  {"device": "reference", "suite": "train", .*},*$' \
        "$tmp/rows")" -eq 3 ]
tap_ok $? 'as JSON'
[ "$(sed -n '1s/^<svg .*/svg/p;$s/^<.svg>$/end/p' "$tmp/roof.svg" |
    tr -d '\n')" = svgend ] &&
    [ "$(grep -c '<circle .*<title>' "$tmp/roof.svg")" -eq 0 ] &&
    [ "$(grep -c 'class="roof"' "$tmp/roof.svg")" -ge 1 ]
tap_ok $? 'a roofline: roofs, and no point for a case without operations'

for words in nosuite 'gemm train' '--list' 'latency --list' \
    'latency --plot x' 'latency --vs guard' 'gemm --threads 0' \
    'gemm --plot'; do
    tap_run "bench $words is wrong usage" bench 2 $words
done
tap_run 'no such device' bench 2 gemm --device nothing
tap_done 36
