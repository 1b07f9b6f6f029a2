#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# again.sh - the op tables once more, with the caller's FTZ and DAZ set and
# with a binding range so small that operands are split into windows.

. "${srcdir:-.}/tests/lint/tap.sh"

# again PROGRAM VARIABLE=VALUE: all cases pass, and there are some.
again() {
    name=${1##*/}
    env "$2" "$builddir/$1" >"$tmp/out" 2>&1
    code=$?
    passed=$(grep -c '^ok' "$tmp/out")
    failed=$(grep -c '^not ok' "$tmp/out")
    grep -A1 '^not ok' "$tmp/out" | head -20 | sed 's/^/# /'
    test "$code" -eq 0 && test "$failed" -eq 0 && test "$passed" -gt 0
    tap_ok $? "$name with $2: $passed passed, $failed failed"
}

cd "$builddir" || exit 1
for program in tests/op/*_test; do
    again "$program" SSQ_TEST_FTZ=1
    again "$program" SSQ_LIMIT_BINDING=4096
done
tap_done 2
