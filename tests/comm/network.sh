#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# network.sh - ranks on two machines: network namespaces, host names and daemons
# each, with a cable between them, which is slow, loses packets, and is
# cut. By root alone, and with SSQ_TEST_FULL=1: starting a job takes seconds.

. "${srcdir:-.}/tests/lint/tap.sh"

without() {
    tap_skip "$1" 'ranks on two machines'
    tap_done 1
}
[ "${SSQ_TEST_FULL-}" = 1 ] || without 'SSQ_TEST_FULL=1 runs it'
[ "${MPI_LIBRARY-}" = "Open MPI" ] || without 'it starts Open MPI'
command -v "${MPIRUN:-mpirun}" >/dev/null || without "no ${MPIRUN:-mpirun}"
command -v ip >/dev/null || without 'no ip'
a=ssqa$$ b=ssqb$$
trap 'ip netns del $a 2>/dev/null; ip netns del $b 2>/dev/null
    rm -rf "$tmp"' EXIT
if ! { ip netns add $a && ip netns add $b &&
    ip link add cable netns $a type veth peer name cable netns $b &&
    ip -n $a addr add 10.77.0.1/24 dev cable &&
    ip -n $b addr add 10.77.0.2/24 dev cable; } 2>"$tmp/err"; then
    without "no network namespaces: $(head -n 1 "$tmp/err")"
fi
for n in $a $b; do
    ip -n $n link set lo up
    ip -n $n link set cable up
done

unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
# In the place of ssh: a daemon on the other machine. And a rank, whose words
# stay on its own.
cat >"$tmp/agent" <<EOF
#!/bin/sh
shift
exec ip netns exec $b unshare --uts sh -c "hostname $b; \$*"
EOF
cat >"$tmp/rank" <<EOF
exec "\$@" 2>"$tmp/err.\$OMPI_COMM_WORLD_RANK"
EOF
chmod +x "$tmp/agent"
job() {
    rm -f "$tmp"/err.?
    # shellcheck disable=SC2016
    HOME=$tmp timeout -k 5 90 ip netns exec $a unshare --uts sh -c '
        hostname "$0"
        exec "$@"' $a "$MPIRUN" --enable-recovery --mca btl self,tcp \
        --mca plm_rsh_agent "$tmp/agent" \
        --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 \
        -H 10.77.0.1:1,10.77.0.2:1 -n 2 sh "$tmp/rank" "$@" \
        >"$tmp/out" 2>"$tmp/err" </dev/null
}

# shape ARGUMENTS...: the treatment of packets at both ends of the cable.
shape() {
    for n in $a $b; do
        tc -n $n qdisc replace dev cable root "$@" 2>"$tmp/err" || return 1
    done
}

# same NAME: the digest of ranks that are threads.
ranks=$builddir/tests/comm/ranks
same() {
    job "$ranks" whole reference cpu
    grep -q '^digest [0-9a-f]\{16\}$' "$tmp/out" &&
        [ "$(grep digest "$tmp/out")" = "$wanted" ]
    tap_ok $? "$1: the bits of local ranks" ||
        sed 's/^/# /' "$tmp/out" "$tmp/err" "$tmp"/err.? | head -n 30
}
wanted=$("$ranks" local reference cpu)
before=$(ip netns exec $a cat /sys/class/net/cable/statistics/tx_bytes)
same 'two machines'
moved=$(($(ip netns exec $a cat /sys/class/net/cable/statistics/tx_bytes) -
    before))
[ $moved -gt 300000 ]
tap_ok $? "and the cable has had $moved bytes of rank 0"
if shape tbf rate 20mbit burst 32kbit latency 400ms; then
    same '20 Mbit/s'
else
    tap_skip "no tbf: $(head -n 1 "$tmp/err")" '20 Mbit/s: the bits'
fi
if shape netem delay 20ms 5ms loss 2%; then
    same '20 ms and lost packets'
else
    tap_skip "no netem: $(head -n 1 "$tmp/err")" \
        '20 ms and lost packets: the bits'
fi
tc -n $a qdisc del dev cable root 2>/dev/null
tc -n $b qdisc del dev cable root 2>/dev/null

# The cable is cut after a checkpoint. Neither rank is gone, and both say that
# they do not hear of the other.
head -c 20000 "$srcdir/COPYING" >"$tmp/text"
gpt="--layers 1 --heads 2 --width 16 --block 16 --warmup 2 --sample 0
    --dropout 0.1 --batch 8 --accumulate 1 --steps 4"
(while [ ! -e "$tmp/run" ]; do sleep 0.05; done
    sleep 0.5
    ip -n $a link set cable down
    sleep 40
    ip -n $a link set cable up) &
begun=$(date +%s)
# shellcheck disable=SC2086
job "$builddir/examples/gpt/gpt" --quiet --device reference $gpt \
    --epochs 100000 --data "$tmp/text" --data-parallel --timeout 10 \
    --save "$tmp/run"
took=$(($(date +%s) - begun))
wait
for r in 0 1; do
    grep SSQ_ERR_COMM "$tmp/err.$r" | grep -q "rank $((1 - r))"
    tap_ok $? "a cable that is cut: rank $r names the other, $took seconds" ||
        sed 's/^/# /' "$tmp/err.$r" "$tmp/err" | head -n 20
done
"$builddir/examples/gpt/gpt" --quiet --device reference $gpt --epochs 100000 \
    --data "$tmp/text" --resume "$tmp/run" --stop 1 >"$tmp/out" 2>"$tmp/err"
tap_ok $? 'and the checkpoint is whole' || sed 's/^/# /' "$tmp/err"
tap_done 7
