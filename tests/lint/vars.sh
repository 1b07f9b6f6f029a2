#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vars.sh - include/sesqui/vars.h is what lib/tape/vars.awk makes of the headers
# of the ops and of vars.list; and what that list cannot be is refused.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
# made HEADER LIST
made() {
    LC_ALL=C ${AWK:-awk} -v want="$1" -v top=. -f lib/tape/vars.awk \
        include/sesqui/ops/*.h "$2"
}

made header lib/tape/vars.list | diff include/sesqui/vars.h - >"$tmp/out" 2>&1
tap_empty 'vars.h is what the list says: else make vars'
n=$(made table lib/tape/vars.list | grep -c '^static const struct tape_op op_')
[ "$n" -eq "$(grep -c '^[a-z]' lib/tape/vars.list)" ] && [ "$n" -ge 60 ]
tap_ok $? "$n ops, one for each line"

# refused LINE TEXT
refused() {
    echo "$1" >"$tmp/list"
    made table "$tmp/list" >/dev/null 2>"$tmp/err"
    [ $? -ne 0 ] && grep -q "$2" "$tmp/err"
    tap_ok $? "\"$1\" is refused: $2" || sed 's/^/# /' "$tmp/err"
}
refused 'nonsense y:like' 'nonsense is no op of a header'
refused 'argmax y:like' 'argmax has no backward'
tap_done 4
