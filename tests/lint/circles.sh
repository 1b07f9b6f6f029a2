#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# circles.sh - no object of a library needs, directly or not, one that needs it.
#
# Files in a circle are one file in truth: none of them can be read, tested or
# moved without the others. What ties a circle is printed symbol by symbol; it
# is undone by moving a function to where it belongs. For the counts alone, from
# the build directory:
#     make circles

. "${srcdir:-.}/tests/lint/tap.sh"
. "${srcdir:-.}/tests/lint/objects.sh"

circles() {
    ${AWK:-awk} -f "$srcdir/tests/lint/circles.awk" "$1"
}

# d needs the circle a, b, c, and is not of it; e is needed by all.
cat >"$tmp/example" <<'END'
a one T 0 1
a two U
b two T 0 1
b three U
b five U
c three T 0 1
c one U
d one U
d five U
e five T 0 1
e five_too D 0 1
END
circles "$tmp/example" >"$tmp/found"
cat >"$tmp/expected" <<'END'
circle a b c
  a needs two of b
  b needs three of c
  c needs one of a
END
tap_run 'a circle of three is found among five' \
    diff "$tmp/expected" "$tmp/found"

# $1: library, $2: objects that it has at least.
check() {
    [ -e "$builddir/$1.la" ] || [ -e "$builddir/$1.a" ] || {
        tap_skip 'not built' "$1 has no circles"
        return
    }
    symbols "$1" >"$tmp/symbols"
    n=$(cut -d' ' -f1 "$tmp/symbols" | sort -u | grep -c '')
    circles "$tmp/symbols" >"$tmp/out"
    [ "$n" -ge "$2" ] || echo "$n objects, expected $2 or more" >>"$tmp/out"
    tap_empty "$1: $n objects, $(grep -c '^circle' "$tmp/out") circles"
}

check libcore 150
check opencl 10
check vulkan 20
tap_done 4
