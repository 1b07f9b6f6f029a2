#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# races.sh - no kernel races, or reaches outside of its operands: Oclgrind
# interprets small cases of every table, in groups of several work-items, and
# its log stays empty.
#
# Its own wrapper would be passed by, since a module opens libOpenCL, and it
# always exits 0: the loader is told to know no other driver instead.

. "${srcdir:-.}/tests/lint/tap.sh"

driver=/usr/lib/oclgrind/liboclgrind-rt-icd.so
races=$builddir/tests/opencl/races
if ! [ -f "$driver" ] || ! [ -x "$races" ]; then
    tap_skip 'no oclgrind, or no OpenCL' 'kernels without data races'
    tap_done 0
    exit 0
fi
mkdir "$tmp/vendors"
echo "$driver" >"$tmp/vendors/oclgrind.icd"
OCL_ICD_VENDORS=$tmp/vendors OCLGRIND_DATA_RACES=1 OCLGRIND_LOG=$tmp/log
SSQ_OPENCL_GROUP=64 SSQ_LIMIT_BINDING=1048576 # small slabs: each byte has a record
# LLVM's intrinsics for rotations and saturations are unknown to its
# interpreter, and so is what it notes where it inlines a function that returns
# a struct.
OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -Dalways_inline=unused'
export OCL_ICD_VENDORS OCLGRIND_DATA_RACES OCLGRIND_LOG SSQ_OPENCL_GROUP SSQ_LIMIT_BINDING \
    OCLGRIND_BUILD_OPTIONS

tap_run 'a kernel with a race runs' "$races" seed
grep -q 'data race' "$tmp/log"
tap_ok $? 'and is in the log'

rm -f "$tmp/log"
"$races" tables >"$tmp/cases" 2>"$tmp/err"
status=$?
tap_ok "$status" 'the cases run'
[ "$status" -eq 0 ] || tail -n 20 "$tmp/err" "$tmp/cases" | sed 's/^/#   /'
grep '^not ok' "$tmp/cases" >"$tmp/out"
tap_empty "and pass: $(grep -c '^ok' "$tmp/cases") of them"
grep 'SKIP' "$tmp/cases" | sed 's/^/# /'
cp "$tmp/log" "$tmp/out" 2>/dev/null || : >"$tmp/out"
tap_empty 'and nothing is in the log'
tap_done 5
