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

# Without a driver the backend is not there, and says what is missing.
"$tool" devices --why >"$tmp/out" 2>&1
grep -q '^cuda.*no NVIDIA driver' "$tmp/out"
tap_ok $? 'without a driver: the reason is told'

LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
"$tool" devices --why >"$tmp/out" 2>&1
grep -q '^cuda:0' "$tmp/out"
tap_ok $? 'the stand-in is found'

grep -q '^cuda:0.*libcublasLt.so.13' "$tmp/out"
tap_ok $? 'and its cuBLASLt, by its path'

# A driver without it is a device all the same.
mkdir "$tmp/alone"
cp "$builddir/tests/fakecuda/libcuda.so.1" "$tmp/alone/"
LD_LIBRARY_PATH=$tmp/alone "$tool" devices --why >"$tmp/out" 2>&1
grep -q '^cuda:0.*no libcublasLt' "$tmp/out"
tap_ok $? 'without cuBLASLt: the device is there and says so'

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
tap_done 12
