#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi_lost.sh - ranks as processes: the error that the others get if a rank
# dies, is late or leaves. Most of the time they wait.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/comm/mpirun.sh"

# ended HOW N: MPICH's launcher may end them all, before they are told; then the
# job is over, and says that it failed.
ended() {
    begun=$(date +%s)
    run "$2" "$1" reference
    status=$?
    took=$(($(date +%s) - begun))
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$took" -lt 40 ]
    tap_ok $? "$1, $2 ranks over MPICH: over after $took seconds" ||
        sed 's/^/# /' "$tmp/out" "$tmp/err" | head -n 30
}

told late 2 'rank 1, which made no call'
told left 3 'rank 2 was destroyed'
set -- 'killed 3 2' 'killed-within 3 2'
if [ -n "${SSQ_TEST_FULL-}" ]; then
    told late 3 'rank 2'
    set -- "$@" 'killed 2 1'
fi
for case; do
    # shellcheck disable=SC2086
    set -- $case
    if [ "$MPI_LIBRARY" = MPICH ]; then
        ended "$1" "$2"
    else
        told "$1" "$2" "rank $3"
    fi
done
tap_done 4
