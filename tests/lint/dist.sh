#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dist.sh - make dist ships every file that git knows, and nothing that a build
# wrote.

. "${srcdir:-.}/tests/lint/tap.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
name='the tarball has every file that is under version control'
if ! command -v git >"$tmp/out"; then
    tap_skip 'git is not installed' "$name"
elif ! git -C "$srcdir" ls-files --error-unmatch configure.ac \
    >"$tmp/out" 2>&1; then
    tap_skip 'the source is not a git checkout' "$name"
else
    (cd "$builddir" && $MAKE -s print-distfiles) | LC_ALL=C sort -u >"$tmp/dist"
    git -C "$srcdir" ls-files | grep -v '^\.gitignore$' |
        LC_ALL=C sort -u >"$tmp/git"
    LC_ALL=C comm -13 "$tmp/dist" "$tmp/git" >"$tmp/missing"
    # A directory in EXTRA_DIST ships what is below it.
    while read -r f; do
        d=$f
        while [ "${d%/*}" != "$d" ]; do
            d=${d%/*}
            grep -qx "$d" "$tmp/dist" && continue 2
        done
        echo "$f"
    done <"$tmp/missing" >"$tmp/out"
    tap_empty "$name"
fi

# make dist copies a directory of EXTRA_DIST from the build too, if it is there.
(cd "$builddir" && $MAKE -s print-distfiles) | while read -r f; do
    ! [ -d "$builddir/$f" ] || echo "$f: a directory that the build writes to"
done >"$tmp/out"
tap_empty 'the tarball has no file that the build writes'
tap_done 2
