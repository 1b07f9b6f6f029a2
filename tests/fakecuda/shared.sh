#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shared.sh - the tests of core, amp and tape that try each existing device,
# with the stand-in as the only driver. The tables know one op at a time; these
# have queues, events and whole trainings in them. SSQ_TEST_FULL=1 runs all that
# end within seconds to a few minutes.

. "${srcdir:-.}/tests/lint/tap.sh"

if ! [ -f "$builddir/cuda.la" ]; then
    tap_missing fakecuda 'no cuda module was built' 'core and amp on cuda:0'
    tap_done 0
    exit 0
fi
mkdir "$tmp/modules"
ln -s "$(cd "$builddir" && pwd)/.libs/cuda.so" "$tmp/modules/cuda.so"
LD_LIBRARY_PATH=$builddir/tests/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SSQ_MODULE_PATH=$tmp/modules
SSQ_TEST_REQUIRE=reference,guard
FAKECUDA_STATS=$tmp/stats
export LD_LIBRARY_PATH SSQ_MODULE_PATH SSQ_TEST_REQUIRE FAKECUDA_STATS

# on_cuda PROGRAM: all its cases, of which some launched kernels on cuda:0.
on_cuda() {
    : >"$tmp/stats"
    "$builddir/tests/$1" >"$tmp/out" 2>&1
    status=$?
    passed=$(grep -c '^ok' "$tmp/out")
    launches=$(${AWK:-awk} '{ n += $4 } END { print n + 0 }' "$tmp/stats")
    [ $status -eq 0 ] && ! grep -q '^not ok' "$tmp/out" &&
        grep -q "^1\\.\\.$passed\$" "$tmp/out" && [ "$launches" -gt 0 ]
    tap_ok $? "$1: $passed passed, $launches launches" ||
        grep -A 3 '^not ok\|^Bail\|fakecuda:' "$tmp/out" | sed 's/^/#   /'
}

programs='amp/clip amp/optimizer_norm amp/stages amp/unscale core/event
    core/graph tape/weights'
[ -z "${SSQ_TEST_FULL-}" ] || programs="$programs amp/modes
    amp/optimizer_master amp/poll amp/replay amp/together tape/by_hand
    tape/replay tape/foreign amp/many amp/misuse
    amp/optimizer_alloc amp/optimizer_check amp/optimizer_schedule
    amp/optimizer_skip amp/optimizer_state amp/pieces amp/save amp/state
    amp/trace core/bundle core/threads tape/by_hand_cnn tape/by_hand_gpt"
for program in $programs; do
    on_cuda "$program"
done
tap_done 7
