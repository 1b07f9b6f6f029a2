#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vars.sh - include/sesqui/vars.h is what lib/tape/vars.awk makes of the headers
# of the ops and of the manifest; and a manifest that cannot be is refused.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
kinds=kernels/elementwise/unary_kinds.h
manifest=lib/core/module/ops.h
# made WHAT KINDS MANIFEST
made() {
    LC_ALL=C ${AWK:-awk} -v want="$1" -v top=. -f lib/tape/vars.awk \
        include/sesqui/ops/*.h list=kinds "$2" list=ops "$3"
}

made header $kinds $manifest | diff include/sesqui/vars.h - >"$tmp/out" 2>&1
tap_empty 'vars.h is what the manifest says: else make vars'
n=$(made table $kinds $manifest | grep -c '^static const struct tape_op op_')
words=$(sed -n '/^#define SSQ_OPS/,/[^\]$/p' $manifest | grep -o 'TAPE(' |
    grep -c '')
[ "$n" -eq $((words + $(grep -cE '^ +(BOTH|SIGNED)\([0-9]+, ' $kinds))) ] &&
    [ "$n" -ge 60 ]
tap_ok $? "$n ops, one for each word TAPE and each function with a gradient"

# refused FUNCTIONS TEXT [KIND]
refused() {
    printf '#define SSQ_OPS(X) \\\n    X(a, 0, %s, IN_HEADER)\n' "$1" \
        >"$tmp/ops.h"
    echo "    ${3-}" >"$tmp/kinds.h"
    made table "$tmp/kinds.h" "$tmp/ops.h" >/dev/null 2>"$tmp/err"
    [ $? -ne 0 ] && grep -q "$2" "$tmp/err"
    tap_ok $? "\"$1${3+, $3}\" is refused: $2" || sed 's/^/# /' "$tmp/err"
}
refused 'ANY(nonsense) TAPE(y:like)' 'nonsense is no op of a header'
refused 'ANY(argmax) TAPE(y:like)' 'argmax has no backward'
refused 'ANY(rotary) TAPE(y:like TWICE)' 'TWICE is not a word of TAPE'
refused 'TAPE(y:like)' 'does not follow a function'
refused 'ANY(rotary)' 'no op to tapes'
refused 'UNARY_FUNCTIONS' 'the traits of relu are not in the first line' \
    'BOTH(0, relu, none, ANY,'
tap_done 8
