#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# support.sh - `sesqui support` on a device that has everything, on one that
# has little, and on those with a compiler, where it must not run.

. "${srcdir:-.}/tests/lint/tap.sh"

mkdir "$tmp/modules" "$tmp/cache"

# support ARGUMENTS...: its output is in $tmp/said
support() {
    "$builddir/sesqui" support "$@" >"$tmp/said" 2>&1 || {
        sed 's/^/# /' "$tmp/said"
        return 1
    }
}

# The last line of a device: CASES RUN REFUSED MISSING
totals() {
    sed -n 's/^[^ ]*: \([0-9]*\) cases: \([0-9]*\) run, \([0-9]*\) refused as '"\
"'documented, \([0-9]*\) missing$/\1 \2 \3 \4/p' "$tmp/said"
}

# adds: the totals equal the lines' if only one implementation exists
adds() {
    awk 'NF == 12 && $1 != "device" { run += $10; refused += $11; left += $12 }
        / cases: / { split($0, n, /[^0-9]+/)
            ok = n[2] == run + refused + left && n[3] == run &&
                n[4] == refused && n[5] == left }
        END { exit !ok }' "$tmp/said"
}

support --device reference
tap_ok $? 'reference answers'
# shellcheck disable=SC2046
set -- $(totals)
[ "${1-0}" -gt 10000 ] && [ "$1" -eq $(($2 + $3)) ] && [ "$4" -eq 0 ]
tap_ok $? "of $1 cases it runs $2, refuses $3 as documented and lacks none"
! grep -q '[0-9]/[0-9]' "$tmp/said"
tap_ok $? 'so every cell of a dtype is all'
adds
tap_ok $? 'and the lines add up'
grep -q '^reference  *gemm_misuse .* 0  *[1-9][0-9]*  *0$' "$tmp/said"
tap_ok $? 'a table of misuse is refused, not missing'

ln -s "$builddir/tests/core/.libs/module_fake.so" "$tmp/modules/cuda.so"
keep=${SSQ_MODULE_PATH-}
SSQ_MODULE_PATH=$tmp/modules support --device cuda:0 --op fill
# shellcheck disable=SC2046
set -- $(totals)
[ "${2-0}" -gt 0 ] && [ "$4" -gt 0 ] && [ "$1" -eq $(($2 + $3 + $4)) ]
tap_ok $? "a device that fills vectors runs $2 of $1 fills and lacks $4"
n=$(grep -c '^cuda:0: missing: fill .*: no implementation on cuda:0; vector: ' \
    "$tmp/said")
[ "$n" -eq "${4-1}" ]
tap_ok $? 'each with its reason'
grep -q '^cuda:0  *fill  *few .* [1-9][0-9]*/[1-9]' "$tmp/said"
tap_ok $? 'what one implementation takes is told apart'
SSQ_MODULE_PATH=$tmp/modules support --device cuda:0 --op fill --json
tr -d '\n' <"$tmp/said" | grep -q \
    '^\[.*"implementation": "few", .*"unsupported": [1-9].*"missing": '"$4"'} *\]$'
tap_ok $? 'the same as JSON'

# opens DEVICE: its certificate is in the cache then, and no other program
opens() {
    support --device "$1" --op gemm_explain
}
programs() {
    find "$XDG_CACHE_HOME" -type f | wc -l
}
SSQ_MODULE_PATH=$keep
[ -n "$keep" ] || unset SSQ_MODULE_PATH
unset SSQ_CACHE
XDG_CACHE_HOME=$tmp/cache
export XDG_CACHE_HOME
for device in opencl:0 vulkan:0; do
    if ! opens $device; then
        tap_missing "${device%:0}" "no $device" "$device compiles nothing"
        continue
    fi
    before=$(programs)
    [ "$before" -gt 0 ] && support --device $device --op softmax &&
        totals | grep -q ' 0$' && [ "$(programs)" -eq "$before" ]
    tap_ok $? "$device: to ask of softmax compiles nothing"
done
tap_done 11
