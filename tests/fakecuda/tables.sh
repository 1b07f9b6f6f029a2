#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - the tables of all ops on cuda:0, where the driver is the stand-in:
# the module's calls and the very PTX that ships, interpreted. It says nothing
# about speed, or about an NVIDIA GPU's arithmetic.
#
# Then once more where the interpreter looks for races and reads of what nobody
# wrote, and on the least GPU, whose driver takes PTX 6.0 for sm_70 and no newer,
# with one group a launch, which does all the work: every 17th case. Of the
# tables that take minutes (long sums, each product an instruction) every so many
# cases one runs; SSQ_TEST_FULL=1 runs all.

. "${srcdir:-.}/tests/lint/tap.sh"

tool=$builddir/sesqui
if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'tables on cuda:0'
    tap_done 0
    exit 0
fi
LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# stride TABLE: of so many cases one.
stride() {
    [ -z "${SSQ_TEST_FULL-}" ] || set -- full
    case $1 in
    gemm) echo 37 ;;
    gemm_shapes | binary_backward) echo 7 ;;
    optimizer) echo 5 ;;
    conv | group_norm*) echo 3 ;;
    *) echo 1 ;;
    esac
}

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

for table in $SSQ_TEST_TABLES; do
    on_cuda "$table" "$(stride "$table")" --op "$table"
done
export FAKECUDA_RACE=1
on_cuda 'races and reads of nothing' "$([ -n "${SSQ_TEST_FULL-}" ] &&
    echo 3 || echo 17)"
unset FAKECUDA_RACE
export FAKECUDA_GROUPS=1 FAKECUDA_CAPABILITY=70 FAKECUDA_PTX=60
on_cuda 'sm_70, PTX 6.0, one group a launch' "$([ -n "${SSQ_TEST_FULL-}" ] &&
    echo 3 || echo 17)"
tap_done 60
