# SPDX-License-Identifier: Apache-2.0
# mpirun.sh - run tests/comm/ranks as processes over MPI; read with ".", after
# tap.sh. Ends the test if MPI is missing.

ranks=$builddir/tests/comm/ranks
if [ -z "$MPIRUN" ] || ! command -v "$MPIRUN" >/dev/null; then
    tap_missing mpi "no ${MPIRUN:-mpi module in this build}" 'ranks over MPI'
    tap_done 0
    exit 0
fi

# Options of both launchers: allow more ranks than processors, use this machine
# only, keep the other ranks alive if one dies, and run as root.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# A rank that waits lets other processes run: tests beside this one need them.
OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_mpi_yield_when_idle
HOME=$tmp
export HOME
case $MPI_LIBRARY in
"Open MPI") how='--oversubscribe --enable-recovery --mca plm isolated
    --mca btl self,vader' ;;
*) how='-disable-auto-cleanup -launcher fork' ;;
esac

# run N HOW DEVICE...: output in $tmp/out; killed after a minute.
run() {
    n=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 60 "$MPIRUN" $how -n "$n" "$ranks" "$@" \
        >"$tmp/out" 2>"$tmp/err"
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
