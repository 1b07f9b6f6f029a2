#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# count_op.sh - an op needs few files. For one op of each manifest,
# build-aux/count-op.sh counts the files that name it. If a change saves a file,
# lower the number here.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
# at_most N OP WHAT
at_most() {
    name="$2, $3, is in at most $1 files"
    if ! git ls-files --error-unmatch configure.ac >"$tmp/out" 2>&1; then
        tap_skip 'the source is not a git checkout' "$name"
        return
    fi
    sh build-aux/count-op.sh "$2" >"$tmp/out" 2>&1
    n=$(sed -n 's/^[a-z0-9_]*: \([0-9]*\) files$/\1/p' "$tmp/out")
    [ "${n:-1000}" -le "$1" ]
    tap_ok $? "$name" || sed 's/^/# /' "$tmp/out"
}
at_most 5 softsign 'a unary function'
at_most 5 expm1 'a unary function'
at_most 10 glu 'an op with a gradient'
at_most 4 adadelta 'an optimizer'
at_most 2 keras3 'a preset of the loss scaler'
tap_done 5
