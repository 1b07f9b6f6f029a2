#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi.sh - ranks that are processes: the bits of local ones, and what survivors
# are told of a rank that dies, is late or calls something else.

. "${srcdir:-.}/tests/lint/tap.sh"

ranks=$builddir/tests/comm/ranks
if [ -z "$MPIRUN" ] || ! command -v "$MPIRUN" >/dev/null; then
    tap_missing mpi "no ${MPIRUN:-mpi module in this build}" 'ranks over MPI'
    tap_done 0
    exit 0
fi

# What either launcher is told: more ranks than processors, no other machine,
# and that those who are left may live. As root, too.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
HOME=$tmp
export HOME
case $MPI_LIBRARY in
"Open MPI") how='--oversubscribe --enable-recovery --mca plm isolated
    --mca btl self,vader' ;;
*) how='-disable-auto-cleanup -launcher fork' ;;
esac

# run N HOW DEVICE...: in $tmp/out. What is not over in a minute hangs.
run() {
    n=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 60 "$MPIRUN" $how -n "$n" "$ranks" "$@" \
        >"$tmp/out" 2>"$tmp/err"
}

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

# told HOW N WORDS: all ranks but the last are told so, and in time.
told() {
    begun=$(date +%s)
    run "$2" "$1" reference
    took=$(($(date +%s) - begun))
    missing=0
    for r in $(seq 0 $(($2 - 2))); do
        grep "^rank $r: SSQ_ERR_COMM" "$tmp/out" | grep -qE "$3" ||
            missing=$((missing + 1))
    done
    [ $missing -eq 0 ] && [ "$took" -lt 40 ]
    tap_ok $? "$1, $2 ranks: all others are told after $took seconds" ||
        sed 's/^/# /' "$tmp/out" "$tmp/err" | head -n 30
}

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

same reference 2 reference reference
same reference 3 reference reference reference
same cpu 2 cpu cpu
same 'a mixture' 3 reference guard cpu
told late 2 'rank 1, who did not come'
told late 3 'rank 2'
told shapes 3 '500000 elements.*rank 2.*500001'
told left 3 'rank 2 was destroyed'
for case in 'killed 2 1' 'killed 3 2' 'killed-within 3 2'; do
    # shellcheck disable=SC2086
    set -- $case
    if [ "$MPI_LIBRARY" = MPICH ]; then
        ended "$1" "$2"
    else
        told "$1" "$2" "rank $3"
    fi
done
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

# The benchmark, so that its loop goes on working.
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
tap_done 20
