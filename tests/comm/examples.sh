#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh - the examples with --data-parallel and --ranks: the losses of one
# process, the bits of one that accumulates the ranks' micro-batches; a rank
# that is killed is named by all others, and fewer continue from the checkpoint.

. "${srcdir:-.}/tests/lint/tap.sh"

unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
. "${srcdir:-.}/tests/api/idx.sh"
head -c 20000 "$srcdir/COPYING" >"$tmp/text"
examples=$builddir/examples
quiet=--quiet

# one NAME PROGRAM ARGUMENTS...: a process. mpi N PROGRAM ARGUMENTS...: as many;
# a program that takes more than a minute hangs. divided PROGRAM ARGUMENTS..:
# two ranks, of which each has a part of the optimizer, as it says. The last
# line of the log is in $row.
one() {
    program=$1
    shift
    # shellcheck disable=SC2086
    "$examples/$program/$program" $quiet --device reference "$@" \
        --log "$tmp/log" >"$tmp/out" 2>"$tmp/err" || sed 's/^/# /' "$tmp/err"
    row=$(tail -n 1 "$tmp/log")
    rm -f "$tmp/log"
}
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
case ${MPI_LIBRARY-} in
"Open MPI") how='--oversubscribe --enable-recovery --mca plm isolated
    --mca btl self,vader' ;;
*) how='-disable-auto-cleanup -launcher fork' ;;
esac
mpi() {
    ranks=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    HOME=$tmp timeout -k 5 60 "$MPIRUN" $how -n "$ranks" \
        "$examples/$program/$program" --quiet --device reference \
        --data-parallel --log "$tmp/log" "$@" >"$tmp/out" 2>"$tmp/err" ||
        sed 's/^/# /' "$tmp/err" | head -n 20
    row=$(tail -n 1 "$tmp/log")
    rm -f "$tmp/log"
}

divided() {
    quiet=
    one "$@" --ranks 2 --shard
    quiet=--quiet
    grep -qE '^rank 0 of 2 holds masters and moments of [5-7][0-9]\.[0-9]% of' \
        "$tmp/out" || row='the optimizer is not divided'
}

# near NAME: steps and skips of $row and $wanted are equal, and the losses are
# within 1 %: sums of other micro-batches differ in their rounding.
near() {
    printf '%s\n' "$wanted" "$row" | ${AWK:-awk} -F '\t' '
        NR == 1 { split($0, was, "\t") }
        NR == 2 { exit !($2 == was[2] && $6 == was[6] && $3 > 0 &&
            $3 <= was[3] * 1.01 && $3 >= was[3] * 0.99) }'
    tap_ok $? "$1: $(echo "$row" | cut -f 2,3 | tr '\t' ' ')," \
        "of one $(echo "$wanted" | cut -f 2,3 | tr '\t' ' ') (steps, loss)"
}

small='--layers 1 --heads 2 --width 16 --block 16 --warmup 2 --sample 0
    --dropout 0.1'
gpt="$small --steps 8 --epochs 1"
mlp='--epochs 2 --batch 133 --units 32'
cnn='--epochs 2 --batch 64'
have_mpi=yes
if [ -z "${MPIRUN-}" ] || ! command -v "$MPIRUN" >/dev/null; then
    have_mpi=no
    tap_missing mpi "no ${MPIRUN:-mpi module in this build}" 'ranks over MPI'
fi

# Ranks of one process, and of several.
for program in gpt mlp cnn digits amp-loop; do
    case $program in
    gpt) options="$gpt --batch 8 --data $tmp/text --accumulate 1" ;;
    mlp) options="$mlp --data $tmp/data" ;;
    cnn) options="$cnn --data $tmp/data" ;;
    amp-loop) options='--epochs 2' ;;
    *) options='--epochs 1 --batch 60' ;;
    esac
    case $program in digits) n=3 ;; *) n=4 ;; esac
    # shellcheck disable=SC2086
    one $program $options
    wanted=$row
    # shellcheck disable=SC2086
    one $program $options --ranks 2
    near "$program --ranks 2"
    # shellcheck disable=SC2086
    [ $have_mpi = no ] || {
        mpi $n $program $options
        near "$MPIRUN -n $n $program --data-parallel"
    }
done

# Its batch norms see a rank's rows only: other losses than one process's.
[ $have_mpi = no ] || {
    one cnn-explicit --epochs 1 --batch 60 --ranks 3
    wanted=$row
    mpi 3 cnn-explicit --epochs 1 --batch 60
    [ "$row" = "$wanted" ] && [ "$(echo "$row" | cut -f 2)" = 25 ]
    tap_ok $? "cnn-explicit: $MPIRUN -n 3 has the losses of --ranks 3:" \
        "$(echo "$row" | cut -f 2,3 | tr '\t' ' ')"
}

# shellcheck disable=SC2086
{
    one gpt $gpt --data "$tmp/text" --batch 4 --accumulate 2 \
        --export "$tmp/one"
    one gpt $gpt --data "$tmp/text" --batch 8 --accumulate 1 --ranks 2 \
        --device reference,guard --export "$tmp/local"
    cmp "$tmp/one" "$tmp/local" >"$tmp/out" 2>&1
    tap_ok $? 'gpt --ranks 2: the weights of one that accumulates, bit by bit'
    [ $have_mpi = no ] || {
        mpi 2 gpt $gpt --data "$tmp/text" --batch 8 --accumulate 1 \
            --export "$tmp/mpi"
        cmp "$tmp/one" "$tmp/mpi" >"$tmp/out" 2>&1
        tap_ok $? "gpt --data-parallel: likewise over $MPI_LIBRARY"
    }
    # Each rank has a part of the optimizer: the same bits, also of a run that
    # whole optimizers continue with.
    one gpt $gpt --data "$tmp/text" --batch 8 --accumulate 1 --ranks 2
    wanted=$row
    divided gpt $gpt --data "$tmp/text" --batch 8 --accumulate 1 \
        --export "$tmp/shards"
    [ "$row" = "$wanted" ] && cmp "$tmp/one" "$tmp/shards" >"$tmp/out" 2>&1
    tap_ok $? "gpt --ranks 2 --shard: likewise, and the losses: $row"
    [ $have_mpi = no ] || {
        mpi 2 gpt $gpt --data "$tmp/text" --batch 8 --accumulate 1 --shard \
            --export "$tmp/shards" --save "$tmp/saved"
        [ "$row" = "$wanted" ] && [ -s "$tmp/saved" ] &&
            cmp "$tmp/one" "$tmp/shards" >"$tmp/out" 2>&1
        tap_ok $? "gpt --data-parallel --shard: likewise over $MPI_LIBRARY"
    }
    one mlp $mlp --data "$tmp/data" --ranks 2
    wanted=$row
    divided mlp $mlp --data "$tmp/data" --save "$tmp/saved" --stop 1
    one mlp $mlp --data "$tmp/data" --ranks 2 --resume "$tmp/saved"
    [ "$row" = "$wanted" ]
    tap_ok $? "mlp --shard, then without from its checkpoint: $row"
    # They have no trainer, and round the ranks' mean otherwise, or clip by an
    # option.
    for program in digits amp-loop; do
        case $program in
        digits) options='--epochs 1 --batch 60' ;;
        *) options='--epochs 2' ;;
        esac
        one $program $options --ranks 2
        wanted=$row
        divided $program $options
        near "$program --ranks 2 --shard"
    done
    one mlp $mlp --data "$tmp/data"
    wanted=$row
    one mlp $mlp --data "$tmp/data" --ranks 3 --weights 5,2,1 \
        --device cpu,reference,guard
    near 'mlp over cpu, reference and guard by weights'
}

# refused STATUS TEXT PROGRAM ARGUMENTS...
refused() {
    wanted=$1 text=$2 program=$3
    shift 3
    "$examples/$program/$program" --device reference --epochs 1 "$@" \
        >"$tmp/out" 2>"$tmp/err"
    [ $? -eq "$wanted" ] && grep -q "$text" "$tmp/err"
    tap_ok $? "$program $* ends in $wanted and says $text" ||
        sed 's/^/# /' "$tmp/err"
}
refused 1 'a graph cannot have a collective' digits --ranks 3 --batch 60 --graph
refused 1 '64 rows a batch over 3 ranks' digits --ranks 3 --batch 64
refused 1 'what sums over ranks' mlp --ranks 2 --custom --data "$tmp/data"
refused 1 'not one number for each of 3' mlp --ranks 3 --weights 1,2 \
    --data "$tmp/data"
refused 2 'bad option --ranks 0' mlp --ranks 0
refused 2 'bad option --timeout 0' mlp --ranks 2 --timeout 0
refused 2 'ranks in each process' mlp --ranks 2 --data-parallel
refused 2 'shard: there is one rank' gpt --shard
refused 1 'a rank knows those of its part' digits --ranks 2 --batch 60 --shard \
    --statistics
[ $have_mpi = yes ] || [ -n "${MPIRUN-}" ] ||
    refused 2 'needs MPI, which configure has not found' mlp --data-parallel

# By rates that a cache has, here made-up ones: 3 to 1. The weights are fixed
# when the run begins, and continue with its checkpoint.
XDG_CACHE_HOME=$tmp/cache
export XDG_CACHE_HOME
unset SSQ_CACHE
rates() {
    "$builddir/tests/comm/weights" keep reference f16 "$1" &&
        "$builddir/tests/comm/weights" keep guard f16 "$2"
}
# shellcheck disable=SC2086
by_weights() {
    one mlp $mlp --data "$tmp/data" --ranks 2 --device reference,guard "$@"
}
rates 6.5 0
refused 1 'rank 0: .*rank 1 has no rate .*`sesqui tune --train --device guard' \
    mlp --ranks 2 --device reference,guard --weights measured --data "$tmp/data"
by_weights --weights 3,1
wanted=$row
by_weights
[ "$row" != "$wanted" ]
tap_ok $? "mlp --weights 3,1 has another loss than equal shares: $row"
rates 4.5 1.5
by_weights --weights measured --save "$tmp/saved"
[ "$row" = "$wanted" ]
tap_ok $? "mlp --weights measured, at 4.5 and 1.5 steps a second: $row"
by_weights --weights measured --save "$tmp/saved" --stop 1
rates 1 8
by_weights --resume "$tmp/saved"
[ "$row" = "$wanted" ]
tap_ok $? "and from its checkpoint, when the rates are others: $row"
[ $have_mpi = no ] || {
    rates 4.5 1.5
    # shellcheck disable=SC2086
    mpi 2 mlp $mlp --data "$tmp/data" --device reference,guard \
        --weights measured
    [ "$row" = "$wanted" ]
    tap_ok $? "and over $MPI_LIBRARY: $row"
}

# A rank is killed: when the training begins, in its course, and rank 0.
cat >"$tmp/rank" <<'EOF'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ "$rank" = "$VICTIM" ]; then
    (while [ ! -e "$BEHIND" ]; do sleep 0.05; done
        sleep "$THEN"
        kill -9 $$) &
fi
exec "$@"
EOF
# killed VICTIM BEHIND THEN NAME: all others say which, and the job is over; it
# is over with MPICH, too, whose launcher may end them before they say it.
killed() {
    begun=$(date +%s)
    # shellcheck disable=SC2086
    VICTIM=$1 BEHIND=$2 THEN=$3 HOME=$tmp timeout -k 5 60 "$MPIRUN" $how -n 4 \
        sh "$tmp/rank" "$examples/gpt/gpt" --quiet --device reference \
        $small --steps 4 --epochs 100000 --batch 8 --accumulate 1 \
        --data "$tmp/text" --data-parallel --timeout 10 --save "$tmp/run" \
        --log "$tmp/log" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    took=$(($(date +%s) - begun))
    silent=0
    for r in 0 1 2 3; do
        [ $r -eq "$1" ] ||
            grep "^rank $r: .*SSQ_ERR_COMM" "$tmp/err" | grep -q "rank $1" ||
            silent=$((silent + 1))
    done
    said="$((3 - silent)) of the other three name"
    [ "$MPI_LIBRARY" != MPICH ] || [ $status -eq 0 ] || silent=0
    [ $silent -eq 0 ] && [ $took -lt 60 ]
    tap_ok $? "$4: $said rank $1, $took seconds in all" ||
        sed 's/^/# /' "$tmp/err" | head -n 30
    rm -f "$tmp/log"
}
if [ $have_mpi = yes ]; then
    files=run
    [ "${SSQ_TEST_FULL-}" != 1 ] || {
        killed 2 "$tmp/log" 0 'killed at the beginning'
        rm -f "$tmp/run"
        killed 0 "$tmp/run" 0.1 'rank 0 killed'
        mv "$tmp/run" "$tmp/first"
        files='run first'
    }
    killed 3 "$tmp/run" 0.2 'killed behind a checkpoint'
    for file in $files; do
        # shellcheck disable=SC2086
        mpi 3 gpt $small --steps 4 --epochs 100000 --batch 8 --accumulate 1 \
            --data "$tmp/text" --resume "$tmp/$file" --stop 1
        epoch=$(echo "$row" | cut -f 1)
        steps=$(echo "$row" | cut -f 2)
        [ "$epoch" != epoch ] && [ "${epoch:-0}" -gt 1 ] &&
            [ "$steps" -eq $((4 * epoch)) ]
        tap_ok $? "3 ranks go on from the checkpoint of 4: epoch $epoch"
    done
fi

# As in the guide, if Slurm is installed.
if [ $have_mpi = yes ] && command -v srun >/dev/null && srun true 2>/dev/null
then
    srun --ntasks=2 "$builddir/sesqui" devices >"$tmp/out" 2>"$tmp/err"
    [ "$(grep -c '^rank [01] of 2 (Slurm)' "$tmp/out")" -eq 2 ]
    tap_ok $? 'srun: sesqui devices tells both ranks'
else
    tap_skip 'no Slurm that runs jobs' 'srun: sesqui devices tells both ranks'
fi
tap_done 27
