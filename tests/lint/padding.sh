#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# padding.sh - the parameters of ops have no padding, so that two ops may be
# compared by their bytes (lib/core/queue/trace.c). A member takes the place
# of padding.

. "${srcdir:-.}/tests/lint/tap.sh"

if ! command -v clang >/dev/null 2>&1; then
    tap_skip 'no clang, which names the struct that it pads' 'ops are padded'
    tap_done 1
    exit 0
fi
build=$(cd "$builddir" && pwd)
cd "${srcdir:-.}" || exit 1
headers=$(grep -rlE 'struct [a-z0-9_]+_op \{' lib/op lib/amp lib/core/module --include='*.h')
ops=$(grep -hoE 'struct [a-z0-9_]+_op \{' $headers | sed 's/ {//' | sort -u)
echo "$headers" | sed 's/.*/#include "&"/' >"$tmp/ops.c"
clang -std=c11 -I. -Iinclude -I"$build" -Wpadded -fsyntax-only "$tmp/ops.c" \
    2>"$tmp/said"
tap_ok $? "$(echo "$ops" | wc -l) ops are compiled"

# The header ends behind its last member, and op_same knows those; an op ends
# with its views, or compares what it has.
grep "padding struct 'struct .* to align" "$tmp/said" |
    grep -e "_op' with" -e '^[./]*lib/op/' >"$tmp/out"
tap_empty 'none is padded'
tap_done 2
