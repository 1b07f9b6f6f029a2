# SPDX-License-Identifier: Apache-2.0
# on_cuda.sh - tables on cuda:0 of the stand-in; read with "." behind tap.sh.
# Where no module was built there is nothing to do.

tool=$builddir/sesqui
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'tables on cuda:0'
    tap_done 0
    exit 0
fi
LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# on_cuda NAME STRIDE [ARGUMENT...]
on_cuda() {
    name=$1
    SSQ_TEST_STRIDE=$2
    export SSQ_TEST_STRIDE
    shift 2
    "$tool" verify --device cuda:0 "$@" >"$tmp/out" 2>&1
    tap_ok $? "$name: $(sed -n 's/^# \([0-9]* passed.*\)/\1/p' "$tmp/out")" ||
        grep -A 3 '^not ok\|fakecuda:\|fakeblas:' "$tmp/out" | sed 's/^/#   /'
}
