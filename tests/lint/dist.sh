#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dist.sh - make dist ships every file that git knows, and nothing that a build
# wrote; make release and configure say what they refuse.

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
mkdir -p "$tmp/tree/backends/cpu" "$tmp/tree/lib/core/module"
(
    cd "$tmp/tree" && cp "$srcdir/lib/core/module/ops.h" lib/core/module &&
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

(unset SOURCE_DATE_EPOCH && cd "$builddir" &&
    GIT_DIR=$tmp/none $MAKE -s release) >"$tmp/out" 2>&1
[ $? -ne 0 ] && grep -q 'set SOURCE_DATE_EPOCH' "$tmp/out"
tap_ok $? 'make release outside of git asks for a date' ||
    sed 's/^/#   /' "$tmp/out"

# The compiler may lack what it needs for programs of 32 bits.
name='configure refuses pointers of 32 bits'
if [ -f "$srcdir/config.status" ]; then
    tap_skip 'the build is in the source tree' "$name"
else
    top=$(cd "$srcdir" && pwd)
    (mkdir "$tmp/m32" && cd "$tmp/m32" &&
        "$top/configure" --quiet CPPFLAGS=-m32) >"$tmp/out" 2>&1
    [ $? -ne 0 ] && grep -q 'pointers of 64 bits' "$tmp/out"
    tap_ok $? "$name" || sed 's/^/#   /' "$tmp/out"
fi
tap_done 5
