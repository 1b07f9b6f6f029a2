#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh - the op tables once more, on the host's backends: with the caller's
# FTZ and DAZ set, and those that window_test leaves out with a small binding
# range, where an op gives the right result or is refused. Both at once, and
# without the longest table; with SSQ_TEST_FULL=1 all, one after the other.

. "${srcdir:-.}/tests/lint/tap.sh"

# again TABLE VARIABLE=VALUE...: all cases pass, and there are some.
again() {
    name=$1
    shift
    env "$@" "$builddir/tests/op/tables" "$name" >"$tmp/out" 2>&1
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
for name in $(sed -n 's|^op_tables += tests/op/||p' "$srcdir/lists.mk"); do
    windows=SSQ_LIMIT_BINDING=4096
    case $name in
    gemm_shapes) [ -n "$full" ] || continue ;;
    # window_test has these tables
    fill | copy | cast | unary | unary_backward | binary | binary_backward | \
        compare | where | scale | random | dropout | init | reduce | \
        reduce_backward | argmax | l2_norm) windows='' ;;
    esac
    if [ -n "$full" ]; then
        again "$name" SSQ_TEST_FTZ=1
        [ -z "$windows" ] || again "$name" $windows
    else
        again "$name" SSQ_TEST_FTZ=1 $windows
    fi
done
tap_done 50
