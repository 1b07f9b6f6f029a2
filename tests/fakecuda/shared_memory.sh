#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shared_memory.sh - memory of Vulkan that CUDA imports, and semaphores, with the
# stand-in as the driver: tests/vulkan/share.c.

. "${srcdir:-.}/tests/lint/tap.sh"

if ! [ -f "$builddir/cuda.la" ] || ! [ -x "$builddir/tests/vulkan/share" ]; then
    tap_missing fakecuda 'no cuda or no vulkan module was built' \
        'memory of vulkan on cuda:0'
    tap_done 0
    exit 0
fi
LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SSQ_TEST_STANDIN=1
export LD_LIBRARY_PATH SSQ_TEST_STANDIN
status=0
"$builddir/tests/vulkan/share" >"$tmp/out" 2>&1 || status=$?
tap_ok $status "$(grep -c '^ok' "$tmp/out") cases of vulkan and cuda" || {
    echo "#   status $status, after: $(tail -n 1 "$tmp/out")"
    grep -A 3 '^not ok\|^Bail\|fakecuda:' "$tmp/out" | sed 's/^/#   /'
}
if ! grep -q '# SKIP' "$tmp/out"; then
    grep -q '^ok .* cuda: and the other way round' "$tmp/out"
    tap_ok $? 'cuda wrote into it, too'
    ! grep -q '^fakecuda:' "$tmp/out"
    tap_ok $? 'no call was refused as undocumented' ||
        grep '^fakecuda:' "$tmp/out" | sed 's/^/#   /'
else
    tap_skip 'vulkan:0 cannot export memory' 'cuda wrote into it, too'
fi
tap_done 2
