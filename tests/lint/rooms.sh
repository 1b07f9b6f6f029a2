#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rooms.sh - every room has a line that says what belongs there and where to
# begin reading, in the README.md of its floor.
#
# A room is a folder with sources of its own. A line is a row of a table:
#
#     | `lib/plan/` | what belongs there | `plan.h` `rows.h` |

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
floors='.ci backends bench build-aux comms doc examples include kernels lib m4 tests tools'

# What a build or a run of tests has left in a source tree is no room.
find $floors \( -name '.[ld]*' -o -path tests/cache -o -path tests/pocl \
    -o -path tests/mesa -o -path doc/reference \) -prune -o -type f \
    ! -name README.md \( -name '*.[chk]' -o -name '*.comp' -o -name '*.cc' \
    -o -name '*.sh' -o -name '*.mk' -o -name '*.m4' -o -name '*.md' \
    -o -name run \) -print |
    sed 's|[^/]*$||' | sort -u >"$tmp/rooms"
find $floors -name README.md | sort >"$tmp/pages"
while read -r page; do
    sed -n 's/^| `\([^`]*\/\)` |\(.*\)|\([^|]*\)|$/\1 \3 |\2/p' "$page" |
        tr -d '`' | sed "s|^|$page |"
done <"$tmp/pages" >"$tmp/rows"

cut -d ' ' -f 2 "$tmp/rows" | sort >"$tmp/named"
tap_ok "$(($(grep -c '' "$tmp/rooms") < 80))" \
    "there are $(grep -c '' "$tmp/rooms") rooms"
sort -u "$tmp/named" | comm -23 "$tmp/rooms" - >"$tmp/out"
tap_empty 'every room has a line in the README.md of its floor'
uniq -d "$tmp/named" >"$tmp/out"
tap_empty 'no room has two lines'

# Where to begin: files of the room itself.
while read -r page room rest; do
    [ -d "$room" ] || echo "$page: $room is no folder"
    for file in ${rest%%|*}; do
        [ -f "$room$file" ] || echo "$page: $room has no $file"
    done
    [ "${#rest}" -gt 20 ] || echo "$page: $room: says nothing"
done <"$tmp/rows" >"$tmp/out"
tap_empty 'rooms and files of the lines are there'

# A floor whose families lie in rooms has the same rooms as the others.
families() {
    (cd "$1" && ls -d */) | grep -vxE "$2" | tr '\n' ' '
}
kernels=$(families kernels '(certify|dialect|scalar)/')
for floor in lib/plan backends/reference tests/op; do
    [ "$(families $floor none)" = "$kernels" ] ||
        echo "$floor: $(families $floor none), kernels: $kernels"
done >"$tmp/out"
[ "$(families lib/op none)" = "$(families kernels \
    '(amp|certify|dialect|scalar)/')" ] ||
    echo "lib/op: $(families lib/op none)" >>"$tmp/out"
tap_empty "the floors have the same rooms: $kernels"
tap_done 5
