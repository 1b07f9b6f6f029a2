#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh - `sesqui bench` keeps to its seconds, and says what it leaves out.

. "${srcdir:-.}/tests/lint/tap.sh"

# bench STATUS OPTION...: the rows are in $tmp/rows, the complaint in $tmp/said.
bench() {
    want=$1
    shift
    "$builddir/sesqui" bench --device reference "$@" >"$tmp/rows" 2>"$tmp/said"
    [ $? -eq "$want" ]
}

for seconds in 0 -1 x 1x; do
    tap_run "--seconds $seconds is wrong usage" \
        bench 2 --op softmax --seconds "$seconds"
done

# the largest softmax moves 32 MB: no host does that twice in a millisecond
tap_run '--seconds 0.001: some cases are timed' \
    bench 0 --op softmax --cases 8 --seconds 0.001
awk '/ left out: / { n++ } END { exit n == 0 }' "$tmp/rows"
tap_ok $? 'and others left out'
awk '/ left out: a run would take about [0-9.e+-]* s, .*softmax / {
        for (i = 1; $i != "about"; i++) { }
        if (2 * $(i + 1) <= 0.001) print
        next
    }
    / left out/' "$tmp/rows" >"$tmp/out"
tap_empty 'each would take longer, twice, and is named'
awk '/ x .* GFLOP/ && ($3 < 1 || $3 * $5 > 1000)' "$tmp/rows" >"$tmp/out"
tap_empty 'none that is timed takes a thousand times as long'

tap_run 'when nothing can be timed that is a failure' \
    bench 1 --op layer_norm --cases 2 --seconds 1e-12
grep -q 'nothing was timed' "$tmp/said"
tap_ok $? 'and said'

tap_run '--op tape is timed' bench 0 --op tape
awk '/ of one element: / { n++ } END { exit n != 10 }' "$tmp/rows"
tap_ok $? 'two calls and their gradients, by hand and on a tape'

tap_done 12
