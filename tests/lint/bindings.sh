#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings.sh - a device is asked for as many storage buffers as the kernel with
# the most of them has, and parameters lie behind those.

. "${srcdir:-.}/tests/lint/tap.sh"

most=$(cat "$srcdir"/kernels/*/*.k | awk '
    match($0, /BUF_R[OW]\([0-9]+/) {
        n = substr($0, RSTART + 7, RLENGTH - 7) + 1
        most = n > most ? n : most
    }
    END { print most }')
asked=$(awk '$2 == "LAUNCH_BINDINGS" { print $3 }' "$srcdir/lib/core/module/launch.h")
behind=$(sed -n 's/.*binding = \([0-9]*\)) uniform.*/\1/p' \
    "$srcdir/kernels/dialect/dialect.h")

[ "$most" = "$asked" ]
tap_ok $? "kernels have up to $most operands, LAUNCH_BINDINGS is $asked"
[ "$most" = "$behind" ]
tap_ok $? "their parameters are binding $behind in GLSL"
tap_done 2
