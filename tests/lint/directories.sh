#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# directories.sh - every directory has a line that says what belongs there and
# where to begin reading, in the README.md of its layer.
#
# A directory counts if it has sources of its own. A line is a row of a table:
#
#     | `lib/plan/` | what belongs there | `plan.h` `rows.h` |

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
layers='.ci backends bench build-aux comms conformance doc examples include kernels lib m4 tests tools'

# Files that a build or a run of tests has left in a source tree do not count.
find $layers \( -name '.[ld]*' -o -path tests/cache -o -path tests/pocl \
    -o -path tests/mesa -o -path doc/reference \) -prune -o -type f \
    ! -name README.md \( -name '*.[chk]' -o -name '*.comp' -o -name '*.cc' \
    -o -name '*.sh' -o -name '*.mk' -o -name '*.m4' -o -name '*.md' \
    -o -name run \) -print |
    sed 's|[^/]*$||' | sort -u >"$tmp/directories"
find $layers -name README.md | sort >"$tmp/pages"
while read -r page; do
    sed -n 's/^| `\([^`]*\/\)` |\(.*\)|\([^|]*\)|$/\1 \3 |\2/p' "$page" |
        tr -d '`' | sed "s|^|$page |"
done <"$tmp/pages" >"$tmp/rows"

cut -d ' ' -f 2 "$tmp/rows" | sort >"$tmp/named"
tap_ok "$(($(grep -c '' "$tmp/directories") < 80))" \
    "there are $(grep -c '' "$tmp/directories") directories"
sort -u "$tmp/named" | comm -23 "$tmp/directories" - >"$tmp/out"
tap_empty 'every directory has a line in the README.md of its layer'
uniq -d "$tmp/named" >"$tmp/out"
tap_empty 'no directory has two lines'

# Where to begin: files of the directory itself.
while read -r page at rest; do
    [ -d "$at" ] || echo "$page: $at is no directory"
    for file in ${rest%%|*}; do
        [ -f "$at$file" ] || echo "$page: $at has no $file"
    done
    [ "${#rest}" -gt 20 ] || echo "$page: $at: says nothing"
done <"$tmp/rows" >"$tmp/out"
tap_empty 'directories and files of the lines are there'

# A layer with a directory for each family has the same ones as the others.
families() {
    (cd "$1" && ls -d */) | grep -vxE "$2" | tr '\n' ' '
}
kernels=$(families kernels '(certify|dialect|operands|scalar)/')
for layer in lib/plan backends/reference conformance; do
    [ "$(families $layer none)" = "$kernels" ] ||
        echo "$layer: $(families $layer none), kernels: $kernels"
done >"$tmp/out"
[ "$(families lib/op none)" = "$(families kernels \
    '(amp|certify|dialect|operands|scalar)/')" ] ||
    echo "lib/op: $(families lib/op none)" >>"$tmp/out"
tap_empty "the layers have the same directories: $kernels"
tap_done 5
