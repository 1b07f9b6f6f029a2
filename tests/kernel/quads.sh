#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quads.sh - texts that take four neighbours at a time (kernels/dialect/quads.h,
# runs.h) have accesses of that width in the PTX that ships, in every variant.

. "${srcdir:-.}/tests/kernel/kernel.sh"
. "$srcdir/tests/kernel/shipped.sh"

if [ ! -f "$packs/ptx_table.h" ]; then
    tap_missing fakecuda 'the cuda module is not built' 'its PTX'
    tap_done 0
    exit 0
fi

# without WHAT: the entries that have none of these accesses.
without() {
    ${AWK:-awk} -v what="$1" '
        /^\.visible \.entry / { if (name != "" && !found) print name
                                name = $3
                                found = 0 }
        $0 ~ what { found = 1 }
        END { if (!found) print name }' "$tmp/all.ptx"
}

wide='v4\.[bfsu](8|16|32)'
for text in $(cd "$srcdir" && grep -lE 'QUAD_|DENSE_|EACH_RUN|KEPT_PUT' $texts); do
    ! grep -q 'define RUN_ALONE' "$srcdir/$text" || continue
    shipped "$text" >"$tmp/all.ptx"
    entries=$(grep -c '^\.visible \.entry' "$tmp/all.ptx")
    case $text in
    */fill.k) ;; # of one operand, which it writes
    *)
        without "ld\\.global[.a-z]*\\.$wide" >"$tmp/out"
        tap_empty "$text: all of $entries variants load four at a time"
        ;;
    esac
    case $text in
    */grad_check.k) ;; # reads
    *)
        without "st\\.global\\.$wide" >"$tmp/out"
        tap_empty "$text: all of $entries variants store four at a time"
        ;;
    esac
done
tap_done 30
