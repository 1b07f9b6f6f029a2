#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi.sh - ranks that are processes: the bits of local ones, and what is
# refused. mpi_lost.sh has ranks that fail.

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/comm/mpirun.sh"

# same NAME N DEVICE...: N processes come to the digest of as many threads.
same() {
    name=$1 n=$2
    shift 2
    "$ranks" local "$@" >"$tmp/local" 2>"$tmp/err"
    run "$n" whole "$@"
    grep -q '^digest [0-9a-f]\{16\}$' "$tmp/local" &&
        [ "$(grep digest "$tmp/out")" = "$(cat "$tmp/local")" ]
    tap_ok $? "$name: $n ranks over $MPI_LIBRARY have the bits of local ones" ||
        sed 's/^/# /' "$tmp/local" "$tmp/out" "$tmp/err" | head -n 30
}

# make check runs the mixture, whose ranks take all the ways of the others.
if [ -n "${SSQ_TEST_FULL-}" ]; then
    same reference 2 reference reference
    same reference 3 reference reference reference
    same cpu 2 cpu cpu
fi
same 'a mixture' 3 reference guard cpu

told shapes 3 '500000 elements.*rank 2.*500001'
told absent 2 'waited 1 seconds for all ranks to make their communicators'
told finalized 2 'MPI_Finalize came before'

# refused HOW N WORDS: all N ranks are, and none is ended by MPI.
refused() {
    run "$2" "$1" reference
    [ "$(grep -cE "^rank [0-9]+: $3" "$tmp/out")" = "$2" ]
    tap_ok $? "$1: refused in words" ||
        sed 's/^/# /' "$tmp/out" "$tmp/err" | head -n 30
}
refused null 1 'SSQ_ERR_INVALID: mpi: mpi_comm is MPI_COMM_NULL'
refused between 2 'SSQ_ERR_INVALID: mpi: mpi_comm is between two groups'
refused over 1 'SSQ_ERR_UNSUPPORTED: mpi: MPI_Finalize has been called'
run 1 alone reference
grep -q '^rank 0: SSQ_ERR_UNSUPPORTED: .*MPI_THREAD_MULTIPLE' "$tmp/out"
tap_ok $? 'MPI without threads is refused' || sed 's/^/# /' "$tmp/out"

# The benchmark, so that its loop continues working.
ranks=$builddir/bench/ranks/collectives
run 2 --device reference --seconds 0.01 'all_gather f16 4096'
grep -q '"ranks": 2, .*"all_gather f16 4096", "median_s": [0-9].*"of_mpi": ' \
    "$tmp/out"
tap_ok $? 'collectives are timed beside those of MPI' ||
    sed 's/^/# /' "$tmp/out" "$tmp/err"
"$ranks" --local 2 --device reference --seconds 0.01 'all_reduce bf16 4096' \
    >"$tmp/out" 2>"$tmp/err"
grep -q '"local", "ranks": 2, .*"median_s": [0-9.e-]*}' "$tmp/out"
tap_ok $? 'and between threads' || sed 's/^/# /' "$tmp/out" "$tmp/err"
ranks=$builddir/bench/ranks/overlap
run 2 --device reference --width 16 --batch 4 --bucket 1000 --rounds 1 --link 10
grep -q '"link_mb_s": 10, .*"whole_s": [0-9].*"hidden": ' "$tmp/out"
tap_ok $? 'steps of training are timed, with and without overlap' ||
    sed 's/^/# /' "$tmp/out" "$tmp/err"
tap_done 11
