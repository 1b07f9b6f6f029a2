#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mixture.sh - one group over cuda, cpu and what else is here: the first step's
# gradients and the losses of one trainer. The stand-in is the driver of cuda.

. "${srcdir:-.}/tests/lint/tap.sh"

share=$builddir/tests/comm/share
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'a group over cuda and cpu'
    tap_done 0
    exit 0
fi
unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
# By the driver's name, and not the one of a GPU that may be here.
mkdir "$tmp/modules"
for module in cuda opencl vulkan; do
    [ ! -f "$builddir/$module.la" ] ||
        ln -s "$(cd "$builddir" && pwd)/.libs/$module.so" "$tmp/modules"
done
: "${LD_LIBRARY_PATH=}"
export LD_LIBRARY_PATH="$builddir/tests/fakecuda:$LD_LIBRARY_PATH" \
    SSQ_MODULE_PATH="$tmp/modules" FAKECUDA_STATS="$tmp/stats"
"$share" cuda:0 cpu reference >"$tmp/out" 2>&1 || true
sed -n 's/^ok [0-9]* - /# /p' "$tmp/out"
[ "$(grep -c '^ok ' "$tmp/out")" -eq 5 ] && ! grep -q '^not ok' "$tmp/out" &&
    [ "$(${AWK:-awk} '{ n += $4 } END { print n + 0 }' "$tmp/stats")" -gt 100 ]
tap_ok $? 'ranks on cuda:0, cpu and reference make the steps of one' ||
    sed 's/^/# /' "$tmp/out"
tap_done 1
