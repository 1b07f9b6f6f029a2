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

for seconds in 0 -1 x 1x inf 1e308; do
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
awk '$3 ~ /^[0-9]+$/ { n++; if ($3 < 1 || $3 * $4 > 1000) print }
    END { if (n == 0) print "no rows" }' "$tmp/rows" >"$tmp/out"
tap_empty 'none that is timed takes a thousand times as long'

tap_run 'when nothing can be timed that is a failure' \
    bench 1 --op layer_norm --cases 2 --seconds 1e-12
grep -q 'nothing was timed' "$tmp/said"
tap_ok $? 'and said'

tap_run '--op tape is timed' bench 0 --op tape
awk '/ of one element: / { n++ } END { exit n != 10 }' "$tmp/rows"
tap_ok $? 'two calls and their gradients, by hand and on a tape'


# Columns have names, and a column without a value is left out.
columns() {
    sed -n 's/^device  *impl  *\(runs .*case\)$/\1/p' "$tmp/rows" | tr -s ' '
}
[ "$(columns)" = 'runs median ms spread case' ]
tap_ok $? "of calls: $(columns)"
tap_run 'a product is timed' bench 0 --op gemm --cases 1 --seconds 0.01
[ "$(columns)" = 'runs median ms spread GFLOP/s GB/s of peak of copy case' ]
tap_ok $? "of products: $(columns)"
tap_run 'as CSV' bench 0 --op launch --csv &&
    awk -F , 'NR == 1 { n = NF } NR > 1 && NF == n && $10 $11 $12 $13 $14 == "" {
        rows++ } END { exit rows != 2 }' "$tmp/rows"
tap_ok $? 'a value that there is not is empty' || sed 's/^/# /' "$tmp/rows"

# A plot that cannot be written is found before anything is timed.
began=$(date +%s)
tap_run 'a plot in no folder' bench 1 gemm --plot "$tmp/no/such.svg"
[ -s "$tmp/rows" ] || [ $(($(date +%s) - began)) -gt 5 ]
tap_ok $((!$?)) 'is refused at once'
echo kept >"$tmp/kept.svg"
tap_run 'a plot over a file, and a wrong device' \
    bench 2 gemm --device nothing --plot "$tmp/kept.svg"
[ "$(cat "$tmp/kept.svg")" = kept ]
tap_ok $? 'leaves the file'
tap_done 22
