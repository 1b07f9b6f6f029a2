#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report.sh - `sesqui report`: its sections, a fault in a table, and that it
# names neither the user nor the machine.

. "${srcdir:-.}/tests/lint/tap.sh"

mkdir -p "$tmp/home/somebody/cache" "$tmp/none"

# report ARGUMENTS...: its output is in $tmp/said. Only built-in devices.
report() {
    HOME=$tmp/home/somebody USER=somebody LOGNAME=somebody \
        XDG_CACHE_HOME=$tmp/home/somebody/cache SSQ_MODULE_PATH=$tmp/none \
        SSQ_NOTE=$tmp/home/somebody/notes LANG=C SECRET=password \
        "$builddir/sesqui" report "$@" >"$tmp/said" 2>"$tmp/errors"
}

report --device reference --seconds 5
status=$?
tap_ok $status 'the reference passes' || sed 's/^/# /' "$tmp/said" "$tmp/errors"
for part in '^sesqui [0-9]' '^commit ' '^compiler ' '^== system ==$' '^Linux ' \
    '^glibc ' '^processor' '^== environment ==$' '^SSQ_NOTE=~/notes$' \
    '^== devices ==$' '^ *reference' '^== tuning ==$' '^== verify, a sample ==$' \
    '^reference: [0-9]* cases, 0 failed$' 'tables, one case in 101'; do
    grep -q "$part" "$tmp/said"
    tap_ok $? "a line: $part"
done
host=$(uname -n)
[ ${#host} -ge 3 ] || host=somebody # shorter ones are in other words
grep -n -i -e somebody -e password -e "$host" "$tmp/said" >"$tmp/out"
tap_empty 'neither the user, the machine nor other variables'
ran=$(sed -n 's/^reference: \([0-9]*\) cases.*/\1/p' "$tmp/said")
[ "${ran:-0}" -ge 20 ]
tap_ok $? "${ran:-no} cases"

report --device nowhere --seconds 1
[ $? -ne 0 ]
tap_ok $? 'a device that is not there is an error'
report --devise cpu
[ $? -eq 2 ]
tap_ok $? 'a mistyped option is wrong usage'
tap_done 19
