#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage.sh - what `sesqui` says where it is told nonsense, has nothing to read
# or cannot write: it ends with the code of sesqui(1) and a text that names why.

. "${srcdir:-.}/tests/lint/tap.sh"

XDG_CACHE_HOME=$tmp/cache SSQ_MODULE_PATH=
export XDG_CACHE_HOME SSQ_MODULE_PATH
unset SSQ_CACHE SSQ_NUM_THREADS SSQ_IMPL SSQ_DEVICE

# says STATUS TEXT WORD...: the status, and the text in the complaint.
says() {
    want=$1 text=$2
    shift 2
    "$builddir/sesqui" "$@" </dev/null >"$tmp/out" 2>"$tmp/said"
    [ $? -eq "$want" ] && grep -qF -e "$text" "$tmp/said"
}

# wrong TEXT WORD...: wrong usage, which nothing but the text is said of.
wrong() {
    text=$1
    shift
    says 2 "$text" "$@" && [ ! -s "$tmp/out" ]
    tap_ok $? "$*: $text" || sed 's/^/# /' "$tmp/said" "$tmp/out"
}

for n in 0 -1 x 1e3 ' 2' +2 1025 4294967297 99999999999999999999; do
    wrong "not a number of threads: $n" bench gemm --list --threads "$n"
done
for n in 0 -1 x ' 2' 4294967296; do
    wrong "not a number above 0: $n" bench --cases "$n"
done
wrong 'nothing to be timed is named nonsense' bench --op nonsense
wrong 'nothing to be timed is named gemm' bench latency --op gemm
wrong 'nothing to be timed is named softmax' bench gemm --list --op softmax
wrong 'either --json or --csv' bench gemm --json --csv
wrong 'no --csv and no --op' bench - --csv
wrong 'no --csv and no --op' bench - --op gemm
wrong 'no such option: guard' certify reference guard
wrong '--clear forgets all shapes, not one: 8,8,8' tune 8,8,8 --clear

# Files that cannot be read or written; the commands are short ones.
cat >"$tmp/cases" <<'END2'
gemm f32 4x4x4
END2
bench='bench - --device reference --seconds 0.001'
"$builddir/sesqui" $bench <"$tmp" >"$tmp/out" 2>"$tmp/said"
[ $? -eq 1 ] && grep -q 'standard input cannot be read' "$tmp/said"
tap_ok $? 'a folder as standard input' || sed 's/^/# /' "$tmp/said"
"$builddir/sesqui" $bench <&- >"$tmp/out" 2>"$tmp/said"
[ $? -eq 1 ] && grep -q 'standard input cannot be read' "$tmp/said"
tap_ok $? 'no standard input' || sed 's/^/# /' "$tmp/said"
for command in --version --help "$bench" 'tune 8,8,8 --device cpu' \
    'bench gemm --list'; do
    if [ -c /dev/full ]; then
        "$builddir/sesqui" $command <"$tmp/cases" >/dev/full 2>"$tmp/said"
        [ $? -eq 1 ] && grep -q 'output cannot be written' "$tmp/said"
        tap_ok $? "$command: the disk is full" || sed 's/^/# /' "$tmp/said"
    else
        tap_skip "$command: the disk is full" 'no /dev/full'
    fi
    "$builddir/sesqui" $command <"$tmp/cases" >&- 2>"$tmp/said"
    [ $? -eq 1 ] && grep -q 'output cannot be written' "$tmp/said"
    tap_ok $? "$command: no standard output" || sed 's/^/# /' "$tmp/said"
done
grep -r 'x 8 batch' "$tmp/cache" >"$tmp/out"
tap_empty 'what is printed goes to no file of the cache'

# A line is one case, however long, and has one answer.
awk 'BEGIN { printf "gemm f32 "; for (i = 0; i < 5000; i++) printf "4";
    print "x1x1"; print "gemm f32 4x4x4" }' |
    "$builddir/sesqui" $bench >"$tmp/out" 2>&1
[ "$(grep -c '' "$tmp/out")" -eq 2 ] &&
    [ "$(grep -c '"skipped": "no case' "$tmp/out")" -eq 1 ]
tap_ok $? 'a long line has one answer'

mkdir -p "$tmp/cache/sesqui" && : >"$tmp/file"
XDG_CACHE_HOME=$tmp/file
tap_run 'a cache that cannot be written is named' \
    says 1 "$tmp/file/sesqui/gemm-cpu-" tune 8,8,8 --device cpu

tap_done 37
