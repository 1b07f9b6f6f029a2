#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - tables of ops on cuda:0, where the driver is the stand-in: the
# module's calls and the very PTX that ships, interpreted. With SSQ_TEST_FULL=1
# all tables. It says nothing about speed, or about an NVIDIA GPU's arithmetic.

. "${srcdir:-.}/tests/lint/tap.sh"

tool=$builddir/sesqui
if ! [ -f "$builddir/cuda.la" ]; then
    tap_skip 'no cuda module was built' 'tables on cuda:0'
    tap_done 0
    exit 0
fi

LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# Each kind of kernel once: by elements, by rows and columns, in groups with
# barriers, lists of tensors, random words.
tables='binary cast fill gather optimizer random reduce softmax'
[ -z "${SSQ_TEST_FULL-}" ] || tables=
for table in ${tables:-all}; do
    op="--op $table"
    [ "$table" != all ] || op=
    # shellcheck disable=SC2086
    "$tool" verify --device cuda:0 $op >"$tmp/out" 2>&1
    tap_ok $? "$table: $(sed -n 's/^# \([0-9]* passed.*\)/\1/p' "$tmp/out")"
done
tap_done 8
