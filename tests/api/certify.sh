#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# certify.sh - `sesqui certify` on a driver that is right, that dies and that
# hangs; the files that it keeps, and the words of `sesqui devices` about them.

. "${srcdir:-.}/tests/lint/tap.sh"

mkdir "$tmp/modules" "$tmp/cache"
ln -s "$builddir/tests/core/.libs/module_fake.so" "$tmp/modules/cuda.so"
SSQ_MODULE_PATH=$tmp/modules XDG_CACHE_HOME=$tmp/cache
# the other drivers are others' business
SSQ_SKIP_BACKENDS=opencl,vulkan
export SSQ_MODULE_PATH XDG_CACHE_HOME SSQ_SKIP_BACKENDS
unset SSQ_CACHE SSQ_DEVICE SSQ_IMPL

# certify STATUS ARGUMENTS...: its output is in $tmp/said
certify() {
    want=$1
    shift
    "$builddir/sesqui" certify --op fill "$@" >"$tmp/said" 2>&1
    status=$?
    [ "$status" -eq "$want" ] || {
        echo "# status $status, expected $want"
        sed 's/^/# /' "$tmp/said"
    }
    [ "$status" -eq "$want" ]
}

devices() {
    "$builddir/sesqui" devices --why >"$tmp/devices" 2>&1
}

certify 0 cuda:0 && grep -q '^fill .* cases, 0 failed' "$tmp/said"
tap_ok $? 'a driver that is right is certified'
devices && grep -q 'certify: 1 of 1 tables right' "$tmp/devices"
tap_ok $? 'the verdict is kept, and shown'
FAKE_DIES=1 certify 1 cuda:1 && grep -q 'killed by signal 6' "$tmp/said"
tap_ok $? 'a driver that kills its process is not, and the tool lives'
devices && grep -q 'certify: 0 of 1 tables right' "$tmp/devices" &&
    grep -q 'fill killed by signal 6' "$tmp/devices"
tap_ok $? 'the verdict names the table'
certify 0 --once cuda:0 && ! [ -s "$tmp/said" ]
tap_ok $? 'once is once'
certify 0 cuda:1 && devices && ! grep -q 'killed' "$tmp/devices"
tap_ok $? 'the next verdict takes its place'
FAKE_HANGS=1 certify 1 cuda:0 --seconds 1 &&
    grep -q 'took more than 1 s' "$tmp/said"
tap_ok $? 'a driver that hangs is stopped'
devices && grep -q 'fill took more than 1 s' "$tmp/devices"
tap_ok $? 'and the verdict says so'
certify 2 cuda:7
tap_ok $? 'a device that is not there'
SSQ_CACHE=0 certify 1 cuda:1 && grep -q 'no cache to keep it in' "$tmp/said"
tap_ok $? 'without a cache nothing is kept, and it is said'

# A driver is tried in a child before the tool loads it.
FAKE_OPEN_DIES=1 "$builddir/sesqui" devices >"$tmp/devices" 2>"$tmp/said"
[ $? -eq 1 ] && grep -q '^reference' "$tmp/devices" &&
    grep -q '^cuda  not available: its driver is at fault: .*killed by signal 6' \
        "$tmp/devices" && grep -q '^auto is cpu' "$tmp/devices"
tap_ok $? 'a driver that ends what opens it: devices lists the others' ||
    sed 's/^/# /' "$tmp/said" "$tmp/devices"
FAKE_OPEN_DIES=1 "$builddir/sesqui" devices --json >"$tmp/devices" 2>"$tmp/said"
grep -q '"name": "cuda", .*"available": false, "reason": "its driver is at fault' \
    "$tmp/devices"
tap_ok $? 'also as JSON' || sed 's/^/# /' "$tmp/said" "$tmp/devices"
for command in 'verify --op fill' 'support --op fill' 'certify --op fill cuda:0' \
    'bench --op launch --device cuda:0' 'bench gemm --seconds 0.001 --device cuda:0' \
    'tune 8,8,8 --device cuda:0'; do
    FAKE_OPEN_DIES=1 "$builddir/sesqui" $command >"$tmp/out" 2>"$tmp/said"
    [ $? -eq 1 ] && grep -q 'cuda: its driver is at fault: .* signal 6' "$tmp/said"
    tap_ok $? "$command: it is named, and the tool lives" ||
        sed 's/^/# /' "$tmp/said"
done
FAKE_OPEN_DIES=1 SSQ_SKIP_BACKENDS=opencl,cuda,vulkan "$builddir/sesqui" devices --why \
    >"$tmp/devices" 2>"$tmp/said" &&
    grep -q '^cuda  not available: SSQ_SKIP_BACKENDS names it' "$tmp/devices"
tap_ok $? 'SSQ_SKIP_BACKENDS: a driver that the user does not want' ||
    sed 's/^/# /' "$tmp/said" "$tmp/devices"
FAKE_OPEN_DIES=1 "$builddir/sesqui" support --device reference --op fill \
    >"$tmp/out" 2>&1
tap_ok $? 'the driver of another device is not loaded' ||
    sed 's/^/# /' "$tmp/out"

# The tool may be started with the end of children ignored. Some shells undo
# that, as libtool's script does: it is the program itself that is run.
program=$builddir/.libs/sesqui
if ! [ -x "$program" ] || ! env --ignore-signal=CHLD true 2>"$tmp/out"; then
    tap_skip 'no env --ignore-signal' 'SIGCHLD is ignored'
else
    LD_LIBRARY_PATH=$builddir/.libs FAKE_DIES=1 env --ignore-signal=CHLD \
        "$program" certify --op fill cuda:1 >"$tmp/said" 2>&1
    [ $? -eq 1 ] && grep -q '^fill .*killed by signal 6' "$tmp/said"
    tap_ok $? 'SIGCHLD is ignored, and the signal is named' ||
        sed 's/^/# /' "$tmp/said"
fi

# A table whose cases keep ending is not at fault.
certify 0 cuda:1 && cp -r "$tmp/cache" "$tmp/before" &&
    FAKE_SLOW=1 certify 1 cuda:1 --seconds 1 &&
    grep -q '^fill .* of [0-9]* cases in 1 s, 0 failed: not finished' \
        "$tmp/said" && grep -q '1 of 1 tables not finished: not certified$' \
        "$tmp/said" && diff -r "$tmp/before" "$tmp/cache" >"$tmp/out"
tap_ok $? 'a busy machine is no fault, and changes no verdict' ||
    sed 's/^/# /' "$tmp/said"
grep -q '^# cuda:1: 1 table of fill: fill; each in at most 1 s$' "$tmp/said"
tap_ok $? 'what --op runs is said'
FAKE_HANGS=1 certify 1 cuda:1 --seconds 0.5 &&
    grep -q ', 1 of 1 tables at fault: not certified$' "$tmp/said"
tap_ok $? 'a driver that hangs is' || sed 's/^/# /' "$tmp/said"

# --once is for drivers that could end a process: cpu has none.
rm -rf "$tmp/cache"
certify 0 --once && grep -q '^# cuda:1: .* certified$' "$tmp/said" &&
    ! grep -qE '^# (cpu|reference|guard):' "$tmp/said"
tap_ok $? '--once: devices with a driver, and no other' ||
    sed 's/^/# /' "$tmp/said"
devices && "$builddir/sesqui" devices --json >"$tmp/devices" 2>&1 &&
    grep -qE '"name": "cuda:0", .*"certify": \{"passed": true, "tables": \[\{"table": "fill", "cases": [0-9]+, "failed": 0, "skipped": [0-9]+\}\]\}' \
        "$tmp/devices"
tap_ok $? 'the verdict as JSON' || sed 's/^/# /' "$tmp/devices"
FAKE_DIES=1 certify 1 cuda:1 && "$builddir/sesqui" devices --json \
    >"$tmp/devices" 2>&1 && grep -q '"certify": {"passed": false, "tables": \[{"table": "fill", "fault": "killed by signal 6 ' "$tmp/devices"
tap_ok $? 'and a fault' || sed 's/^/# /' "$tmp/devices"

# A terminal has a bar, which is gone at the end.
if TERM=xterm script -qc true /dev/null >"$tmp/out" 2>&1 </dev/null; then
    TERM=xterm script -qc "'$builddir/sesqui' verify --op fill --device \
        reference --report '$tmp/report'" /dev/null >"$tmp/said" 2>&1 </dev/null
    grep -q 'verify: \[[#.]\{20\}\] 1 of 1, [0-9]* s: fill, case 1 of' "$tmp/said" &&
        tail -n 1 "$tmp/said" | grep -q '(1 of 1)'
    tap_ok $? 'a terminal shows how far it is' || sed 's/^/# /' "$tmp/said"
else
    tap_skip 'no script(1)' 'a terminal shows how far it is'
fi
tap_done 28
