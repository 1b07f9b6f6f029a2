#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - the tables of all ops on cuda:0, where the driver is the stand-in:
# the module's calls and the very PTX that ships, interpreted. It says nothing
# about speed, or about an NVIDIA GPU's arithmetic.
#
# One case in 37 of each table runs, and fewer of gemm's, whose every multiply is
# an interpreted instruction. SSQ_TEST_FULL=1 runs all except gemm's, and then
# each variant that ships must have been launched.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/fakecuda/on_cuda.sh"

# Of this many cases one.
strides=37,gemm=499,gemm_shapes=97,binary_backward=97
[ -z "${SSQ_TEST_FULL-}" ] || strides=1,gemm=37,gemm_shapes=3

# every_variant: with the lists of gradients and the scaler, of which no table is,
# all have been launched, except for the ones that mma.sh runs one by one.
every_variant() {
    mkdir "$tmp/modules"
    ln -s "$(cd "$builddir" && pwd)/.libs/cuda.so" "$tmp/modules/cuda.so"
    for program in optimizer_master unscale; do
        SSQ_MODULE_PATH=$tmp/modules SSQ_TEST_REQUIRE=reference \
            "$builddir/tests/amp/$program" >"$tmp/out" 2>&1 ||
            tap_ok 1 "$program: $(grep -c '^not ok' "$tmp/out") failed"
    done
    sh "$srcdir/tests/fakecuda/variants.sh" "$builddir/kernels/ptx.pack" \
        "$builddir/kernels/ptx_table.h" "$tmp/stats" |
        grep -v '^kernels/gemm/gemm_mma\.nv ' >"$tmp/never"
    [ ! -s "$tmp/never" ]
    tap_ok $? "each of $(grep -c '/\* kernels/' \
        "$builddir/kernels/ptx_table.h") variants was launched" ||
        sed 's/^/#   never launched: /' "$tmp/never"
}

[ -z "${SSQ_TEST_FULL-}" ] || export FAKECUDA_STATS="$tmp/stats"
# One process for all, because it opens the device once.
SSQ_TEST_STRIDE=$strides "$tool" verify --device cuda:0 >"$tmp/out" 2>&1
tap_ok $? "verify: $(sed -n 's/^# \([0-9]* passed.*\)/\1/p' "$tmp/out")" ||
    grep -A 3 '^not ok\|fakecuda:\|fakeblas:' "$tmp/out" | sed 's/^/#   /'
# "NAME PASSED FAILED" for each table.
$AWK '/^# table / { name = $NF; if (!(name in ok)) ok[name] = bad[name] = 0 }
    /^ok/ && !/# SKIP/ { ok[name]++ }
    /^not ok/ { bad[name]++ }
    END { for (t in ok) print t, ok[t], bad[t] }' "$tmp/out" >"$tmp/tables"
for table in $SSQ_TEST_TABLES; do
    counts=$(sed -n "s/^$table //p" "$tmp/tables")
    [ -n "$counts" ] && [ "${counts#* }" -eq 0 ]
    tap_ok $? "$table: ${counts% *} passed"
done
[ -z "${SSQ_TEST_FULL-}" ] || every_variant
tap_done 58
