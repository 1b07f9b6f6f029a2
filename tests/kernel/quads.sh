#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quads.sh - sources that take four neighbours at a time
# (kernels/operands/quads.h, runs.h) have accesses of that width in the PTX that
# ships, in every variant.

. "${srcdir:-.}/tests/kernel/kernel.sh"
. "$srcdir/tests/kernel/shipped.sh"

if [ ! -f "$packs/ptx_table.h" ]; then
    tap_missing fakecuda 'the cuda module is not built' 'its PTX'
    tap_done 0
    exit 0
fi

# without WHAT: the entries that have none of these accesses: v4 of any type, or
# the output of clang 19, a word of four bytes, or two of four halves.
without() {
    ${AWK:-awk} -v wide="$1\\.v4\\.[bfsu](8|16|32)" -v bytes="$1\\.[bsu]8" \
        -v halves="$1\\.[bfsu]16" -v word="$1\\.[bu]32" '
        function tell() {
            if (name != "" && !found && !(has_bytes && words > 0) &&
                !(has_halves && words > 1))
                print name
        }
        /^\.visible \.entry / { tell()
                                name = $3
                                found = has_bytes = has_halves = words = 0 }
        $0 ~ wide { found = 1 }
        $0 ~ bytes { has_bytes = 1 }
        $0 ~ halves { has_halves = 1 }
        $0 ~ word { words++ }
        END { tell() }' "$tmp/all.ptx"
}

for text in $(cd "$srcdir" && grep -lE 'QUAD_|DENSE_|EACH_RUN|KEPT_PUT' $texts); do
    ! grep -q 'define RUN_ALONE' "$srcdir/$text" || continue
    shipped "$text" >"$tmp/all.ptx"
    entries=$(grep -c '^\.visible \.entry' "$tmp/all.ptx")
    case $text in
    */fill.k) ;; # of one operand, which it writes
    *)
        without 'ld\\.global[.a-z]*' >"$tmp/out"
        tap_empty "$text: all of $entries variants load four at a time"
        ;;
    esac
    case $text in
    */grad_check.k) ;; # reads
    *)
        without 'st\\.global' >"$tmp/out"
        tap_empty "$text: all of $entries variants store four at a time"
        ;;
    esac
done
tap_done 30
