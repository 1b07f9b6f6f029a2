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

# A build in the source tree writes generated files beside the sources.
mkdir -p "$tmp/tree/backends/cpu" "$tmp/tree/lib/op"
(
    cd "$tmp/tree" && cp "$srcdir/lib/core/module/ops.h" lib/op &&
        : >backends/cpu/a.c && : >backends/cpu/native_table.c &&
        : >backends/cpu/compiled.h && sh "$srcdir/build-aux/lists.sh" &&
        grep '^core_sources +=' lists.mk
) >"$tmp/out" 2>&1
{
    echo 'core_sources += lib/core/module/ops.h'
    echo 'core_sources += backends/cpu/a.c'
} >"$tmp/expected"
diff "$tmp/expected" "$tmp/out" >"$tmp/diff"
mv "$tmp/diff" "$tmp/out"
tap_empty 'what a build writes into the source tree is not listed as source'
tap_done 3
