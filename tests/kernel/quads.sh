#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quads.sh - texts that promise accesses of 16 bytes (kernels/dialect/quads.h)
# have them in the PTX that ships, in every variant.

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

for text in $(cd "$srcdir" && grep -l 'dialect/quads\.h' $texts); do
    shipped "$text" >"$tmp/all.ptx"
    entries=$(grep -c '^\.visible \.entry' "$tmp/all.ptx")
    without 'ld\.global[.a-z]*\.v4\.[fu]32' >"$tmp/out"
    tap_empty "$text: all of $entries variants load 16 bytes at a time"
    case $text in
    *param_step.k)
        without 'st\.global\.v4\.[fu]32' >"$tmp/out"
        tap_empty "$text: and store them"
        ;;
    esac
done
tap_done 3
