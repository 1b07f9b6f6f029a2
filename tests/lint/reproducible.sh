#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reproducible.sh - two builds of a tarball in different places, at different
# times, in different languages and with different parallelism install the same
# bytes. Run by make check-reproducible.
#
# usage: reproducible.sh TARBALL BUILD-DIRECTORY

set -eu
tarball=$1
work=$2/reproducible
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES || :

# build DIRECTORY JOBS
build() {
    mkdir -p "$1/source" "$1/tree"
    tar -xzf "$tarball" -C "$1/source" --strip-components=1
    (cd "$1/tree" && ../source/configure --quiet --prefix=/usr \
        && make -j"$2" && make install DESTDIR="$1/root") >"$1/log" 2>&1 || {
        tail -n 20 "$1/log"
        exit 1
    }
}

chmod -R u+w "$work" 2>/dev/null || :
rm -rf "$work"
(export LC_ALL=C TZ=UTC; build "$work/a" 1)
(export LC_ALL=C.UTF-8 TZ=Pacific/Auckland; umask 077
    build "$work/somewhere/else/with-a.longer-name" 4)
one=$work/a/root two=$work/somewhere/else/with-a.longer-name/root
(cd "$one" && find . -type f | LC_ALL=C sort) >"$work/files"
(cd "$two" && find . -type f | LC_ALL=C sort) | diff "$work/files" -
n=0 wrong=0
while read -r f; do
    n=$((n + 1))
    cmp "$one/$f" "$two/$f" || wrong=$((wrong + 1))
done <"$work/files"
echo "$((n - wrong)) passed, $wrong failed, 0 skipped"
[ "$wrong" -eq 0 ] && [ "$n" -gt 3 ]
