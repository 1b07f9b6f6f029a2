#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh - the op tables once more, on the host's backends: with the caller's
# FTZ and DAZ set, and the ones that window_test leaves out with a small binding
# range, where an op gives the right result or is refused. Both together, one
# case in 7, which has no factor in common with any list that cases are made of,
# and without the longest table; with SSQ_TEST_FULL=1 all, one after the other.

. "${srcdir:-.}/tests/lint/tap.sh"

# again TABLE VARIABLE=VALUE...: all cases pass, and there are some.
again() {
    name=$1
    shift
    env "$@" "$builddir/tests/conformance/tables" "$name" >"$tmp/out" 2>&1
    code=$?
    passed=$(grep -c '^ok' "$tmp/out")
    failed=$(grep -c '^not ok' "$tmp/out")
    skipped=$(grep -c '^ok.*# SKIP' "$tmp/out")
    grep -A1 '^not ok' "$tmp/out" | head -20 | sed 's/^/# /'
    test "$code" -eq 0 && test "$failed" -eq 0 &&
        test "$passed" -gt "$skipped"
    tap_ok $? "$name with $*: $passed passed, $skipped of them skipped"
}

cd "$builddir" || exit 1
# No modules: their backends take core/fpenv's and window_test's word for it.
SSQ_MODULE_PATH=''
SSQ_TEST_REQUIRE=reference,guard
export SSQ_MODULE_PATH SSQ_TEST_REQUIRE
full=${SSQ_TEST_FULL-}
[ -n "$full" ] || { SSQ_TEST_STRIDE=7 && export SSQ_TEST_STRIDE; }
# The ops that the core splits, by the manifest: their operands are walked
# together. And norm, which its function splits. window_test has their tables.
split=$(sed -n '/^#define SSQ_OPS/,/[^\\]$/p' "$srcdir/lib/core/module/ops.h" |
    tr -d '\\\n' | sed 's/ X(/\
/g' | sed -n 's/^\([a-z0-9_]*\), \([0-9A-Z_]*\), .*/\1 \2/p' |
    awk '$2 != 0 || $1 == "norm" { print $1 }')
"$builddir/tests/conformance/tables" >"$tmp/tables" || exit 1
while read -r name op; do
    windows=SSQ_LIMIT_BINDING=4096
    [ -n "$full" ] || [ "$name" != gemm_shapes ] || continue
    echo "$split" | grep -qxF "$op" && windows=''
    if [ -n "$full" ]; then
        again "$name" SSQ_TEST_FTZ=1
        [ -z "$windows" ] || again "$name" $windows
    else
        again "$name" SSQ_TEST_FTZ=1 $windows
    fi
done <"$tmp/tables"
tap_done 50
