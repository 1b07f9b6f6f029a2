#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# variants.sh - the variants of the PTX that ships which no test has launched on
# the stand-in: their names, and nothing where there are none.
# usage: variants.sh PACK TABLE STATS, the last what FAKECUDA_STATS collected.
set -eu
pack=$1 table=$2 stats=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# SUM BYTES TEXT KEY=VALUE...: variants of one text may be the same.
sed -n 's|^ *{\([0-9]*\), \([0-9]*\), [0-9]*}, /\* \(.*\) \*/$|\1 \2 \3|p' \
    "$table" >"$work/listed"
while read -r at bytes name; do
    tail -c "+$((at + 1))" "$pack" | head -c "$bytes" | gzip -dc | cksum |
        sed "s|\$| $name|"
done <"$work/listed" >"$work/shipped"
${AWK:-awk} 'NR == FNR { if ($4 > 0) launched[$1 " " $2] = 1; next }
    !(($1 " " $2) in launched) { $1 = $2 = ""; sub(/^ */, ""); print }' \
    "$stats" "$work/shipped"
