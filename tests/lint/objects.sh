# SPDX-License-Identifier: Apache-2.0
# objects.sh - the symbols that the objects of a library define and need; read
# with ".", after tap.sh.

# The symbols of library $1 as "OBJECT SYMBOL TYPE". A build directory keeps the
# objects of files that were removed; these do not count.
symbols() {
    find "$builddir/lib" "$builddir/backends" "$builddir/kernels" \
        -path "*/.libs/$1_la-*.o" -o -name "$1_a-*.o" | while read -r o; do
        object=${o#"$builddir"/}
        folder=${object%/*}
        object=${folder%/.libs}/${object##*"$1"_*a-}
        object=${object%.o}
        [ -e "$srcdir/$object.c" ] || [ -e "$builddir/$object.c" ] || continue
        echo "$o $object"
    done >"$tmp/objects"
    # shellcheck disable=SC2046
    $NM -A -P -g $(cut -d' ' -f1 "$tmp/objects") </dev/null |
        ${AWK:-awk} '
            FILENAME == ARGV[1] { name[$1 ":"] = $2; next }
            { print name[$1], $2, $3 }' "$tmp/objects" -
}
