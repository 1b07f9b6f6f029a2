#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# throughput.sh - `sesqui tune --train` on cpu: the result that it measures and
# keeps, for this many threads; that `sesqui devices` shows it, and that it can
# be forgotten.

. "${srcdir:-.}/tests/lint/tap.sh"

tool=$builddir/sesqui
unset SSQ_CACHE SSQ_NUM_THREADS SSQ_IMPL SSQ_DEVICE
XDG_CACHE_HOME=$tmp/cache
export XDG_CACHE_HOME

# tune CODE ARGUMENT...: runs, and ends so.
tune() {
    want=$1
    shift
    "$tool" tune --train --device cpu "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
    [ "$code" -eq "$want" ] || {
        echo "# tune --train $*: $code"
        sed 's/^/#   /' "$tmp/out" "$tmp/err"
        return 1
    }
}

# shown THREADS PATTERN: `sesqui devices` shows a cpu with this number of
# threads like this.
shown() {
    SSQ_NUM_THREADS=$1 "$tool" devices >"$tmp/list" 2>&1
    sed -n '/^cpu/,/^[^ ]/p' "$tmp/list" | grep -qE "^    trains: $2\$" || {
        sed 's/^/#   /' "$tmp/list"
        return 1
    }
}

number='[0-9]+\.?[0-9]*'
tune 0 --threads 2 --types f32 --seconds 0.05 &&
    grep -qE "^cpu trains in f32: $number steps a second\$" "$tmp/out"
tap_ok $? "f32, two threads: $(cat "$tmp/out")"
shown 2 "f32 $number steps a second"
tap_ok $? "devices: $(grep trains: "$tmp/list")"
tune 0 --threads 2 --types bf16 --seconds 0.05 --json &&
    grep -qE '"device": "cpu", "dtype": "bf16", "steps_a_second": [0-9.]+}' \
        "$tmp/out" && shown 2 "f32 $number, bf16 $number steps a second"
tap_ok $? 'bf16, as JSON, beside it'
SSQ_NUM_THREADS=2 "$tool" devices --json >"$tmp/list" &&
    grep -qE '"training_rates": \{"f32": [0-9.]+, "bf16": [0-9.]+\}' "$tmp/list"
tap_ok $? 'devices, as JSON'
shown 1 '.*' >"$tmp/out"
tap_ok $((!$?)) 'with one thread there is nothing'
tune 0 --threads 2 --types f32 --clear && shown 2 "bf16 $number steps a second"
tap_ok $? "one is forgotten: $(cat "$tmp/out")"
tune 2 --types f64 && tune 2 --types f16,f32 && tune 2 8,16,32 &&
    tune 2 --seconds 0 && tune 2 --threads none
tap_ok $? 'what is not a dtype, shape or number'
SSQ_CACHE=0 tune 1 --threads 2 --types f32 --seconds 0.05 &&
    grep -q 'no cache' "$tmp/err"
tap_ok $? "without a cache: $(cat "$tmp/err")"
tap_done 8
