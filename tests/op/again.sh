#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh - the op tables once more, on the host's backends: with the caller's
# FTZ and DAZ set, and those that window_test leaves out with a small binding
# range, where an op gives the right result or is refused. Both at once, and
# without the longest table; with SSQ_TEST_FULL=1 all, one after the other.

. "${srcdir:-.}/tests/lint/tap.sh"

# again PROGRAM VARIABLE=VALUE...: all cases pass, and there are some.
again() {
    program=$1 name=${1##*/}
    shift
    env "$@" "$builddir/$program" >"$tmp/out" 2>&1
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
# The modules' backends take core/fpenv's and window_test's word for it.
SSQ_MODULE_PATH=$tmp
SSQ_TEST_REQUIRE=reference,guard
export SSQ_MODULE_PATH SSQ_TEST_REQUIRE
full=${SSQ_TEST_FULL-}
for program in tests/op/*_test; do
    name=${program##*/} windows=SSQ_LIMIT_BINDING=4096
    case $name in
    window_test | long_test | loops_test) continue ;;
    gemm_shapes_test) [ -n "$full" ] || continue ;;
    # window_test has these tables
    fill_test | copy_test | cast_test | unary_* | binary_* | compare_test | \
        where_test | scale_test | random_test | dropout_test | init_test | \
        reduce_* | argmax_test | l2_norm_test) windows='' ;;
    esac
    if [ -n "$full" ]; then
        again "$program" SSQ_TEST_FTZ=1
        [ -z "$windows" ] || again "$program" $windows
    else
        again "$program" SSQ_TEST_FTZ=1 $windows
    fi
done
tap_done 50
