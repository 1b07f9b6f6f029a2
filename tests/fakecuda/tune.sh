#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tune.sh - `sesqui tune` on the stand-in: the output and the kept file, that
# `sesqui devices` shows it, that another driver's is not used, and that it can
# be forgotten; and the shapes that it cannot read.

. "${srcdir:-.}/tests/lint/tap.sh"

tool=$builddir/sesqui
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'sesqui tune'
    tap_done 0
    exit 0
fi
unset VIRTUAL_ENV CONDA_PREFIX SSQ_CACHE SSQ_IMPL
LD_LIBRARY_PATH=$builddir/tests/fakecuda
XDG_CACHE_HOME=$tmp/cache
export LD_LIBRARY_PATH XDG_CACHE_HOME

# tune CODE ARGUMENT...: runs, and ends so.
tune() {
    want=$1
    shift
    "$tool" tune --device cuda:0 "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
    [ "$code" -eq "$want" ] || {
        echo "# tune $*: $code"
        sed 's/^/#   /' "$tmp/out" "$tmp/err"
        return 1
    }
}

# shown N: this many shapes are kept, says `sesqui devices`.
shown() {
    "$tool" devices >"$tmp/list" 2>&1
    n=$(sed -n '/^cuda:0/,/^[^ ]/s/^ *tuned: \([0-9]*\) .*/\1/p' "$tmp/list")
    [ "${n:-0}" -eq "$1" ] || {
        sed 's/^/#   /' "$tmp/list"
        return 1
    }
}

shown 0
tap_ok $? 'nothing is kept at first'
tune 0 8,16,32 16,16,16,3 && [ "$(grep -c ' ms, of [0-9]*$' "$tmp/out")" -eq 2 ]
tap_ok $? "two shapes: $(head -n 1 "$tmp/out")"
tune 0 --types=bf16,f32 --trans nt --json 8,16,32 &&
    grep -q '"a": "bf16", "d": "f32", "trans_a": false, "trans_b": true' \
        "$tmp/out" && grep -q '"kept": true' "$tmp/out"
tap_ok $? 'of other dtypes, transposed, as JSON'
shown 3
tap_ok $? "devices: $(grep tuned: "$tmp/list")"
"$tool" devices --json >"$tmp/list" && grep -q '"tuned": 3' "$tmp/list" &&
    grep -q "\"tuning_file\": \"$tmp/cache/sesqui/gemm-cuda-" "$tmp/list"
tap_ok $? 'and as JSON'
FAKECUDA_DRIVER=12080 shown 0
tap_ok $? 'another driver has none of them'
FAKECUDA_CAPABILITY=90 shown 0
tap_ok $? 'nor has another GPU'
tune 0 --tf32 --types f32 8,16,32 && grep -q ' nn TF32: ' "$tmp/out" && shown 4
tap_ok $? 'with TF32 it is a shape of its own'
for wrong in 8,16 8,16,0 8,16,32,1,1 8x16x32 -- 8,16,; do
    tune 2 "$wrong" || break
done
tap_ok $? 'what is no shape'
tune 2 --types f64 8,16,32 && tune 2 --trans tx 8,16,32 && tune 2 --op gemm
tap_ok $? 'what is not a dtype, order or option'
SSQ_CACHE=0 tune 1 8,16,32 && grep -q 'no cache' "$tmp/err"
tap_ok $? 'without a cache'
SSQ_IMPL=cuda/gemm:tiled tune 1 8,16,32 && grep -q 'pinned' "$tmp/err"
tap_ok $? 'with a pin'
tune 0 --clear && shown 0 && tune 0 --clear
tap_ok $? "cleared: $(cat "$tmp/out")"
tap_done 13
