#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# certify.sh - `sesqui certify` on a driver that is right, that dies and that
# hangs; what it keeps, and what `sesqui devices` says of it.

. "${srcdir:-.}/tests/lint/tap.sh"

mkdir "$tmp/modules" "$tmp/cache"
ln -s "$builddir/tests/core/.libs/module_fake.so" "$tmp/modules/cuda.so"
SSQ_MODULE_PATH=$tmp/modules XDG_CACHE_HOME=$tmp/cache
export SSQ_MODULE_PATH XDG_CACHE_HOME
unset SSQ_CACHE

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
tap_done 10
