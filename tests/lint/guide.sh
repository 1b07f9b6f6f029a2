#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# guide.sh - what doc/ says is true: its C compiles and runs, its names and
# files exist, and the man page has the options of the program.
#
# Every ```c block of doc/ is compiled without warnings and run on reference and
# guard. The blocks of the guide are one program, in the order of its list of
# pages. If a page has a main, its blocks are one too. On other pages each block
# is its own program: statements, with guide.h around them.

. "${srcdir:-.}/tests/lint/tap.sh"

lib=$builddir/.libs
LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH

# build NAME FILE: without a warning; the program is FILE.out.
build() {
    tap_run "$1 compiles" $CC -std=c11 -Wall -Wextra -Wpedantic -Werror \
        -Wno-missing-field-initializers $CFLAGS -I"$srcdir/include" \
        -I"$srcdir" -pthread -o "$2.out" "$2" -L"$lib" -lsesqui -lm
}

# try NAME FILE: build and run.
try() {
    build "$1" "$2" || return
    for d in reference guard; do
        tap_run "$1 runs on $d" "$2.out" $d
    done
}

# blocks FILE: its C blocks go to $tmp/block-N.c; sets n.
blocks() {
    rm -f "$tmp"/block-*
    awk -v to="$tmp/block-" '
        /^```/ {
            if (on) { close(f); on = 0 }
            else if ($0 ~ /^```c$/) {
                on = 1; n++; f = to n ".c"
                printf "#line %d\n", NR + 1 >f
            }
            next
        }
        on { print >f }
        END { print n + 0 }' "$1" >"$tmp/count"
    n=$(cat "$tmp/count")
}

programs=0
guide=$srcdir/doc/guide
pages=$(sed -n 's/^[0-9]*\. .*](\([a-z-]*\.md\)).*/\1/p' "$guide/README.md")
for page in $pages; do
    cat "$guide/$page"
done >"$tmp/guide.md"
printf "%s\n" README.md $pages | LC_ALL=C sort >"$tmp/listed"
(cd "$guide" && ls) | LC_ALL=C sort | diff "$tmp/listed" - >"$tmp/out" 2>&1
tap_empty 'the guide lists its pages'
# The dialect's page is of kernels: tests/lint/dialect.sh compiles its text.
for page in "$tmp/guide.md" "$srcdir"/doc/*.md "$srcdir"/doc/coming-from/*.md \
    "$srcdir"/doc/performance/*.md \
    "$srcdir"/doc/design/[!d]*.md; do
    title=doc/${page##*/}
    blocks "$page"
    programs=$((programs + n))
    [ "$n" -gt 0 ] || continue
    if grep -q '^int main(' "$tmp"/block-*.c; then
        for i in $(seq "$n"); do
            cat "$tmp/block-$i.c"
        done >"$tmp/page.c"
        try "$title, $n blocks," "$tmp/page.c"
        continue
    fi
    for i in $(seq "$n"); do
        {
            echo '#include "tests/lint/guide.h"'
            echo 'ssq_status guide_fragment(void) {'
            cat "$tmp/block-$i.c"
            echo 'return SSQ_OK; }'
        } >"$tmp/fragment.c"
        try "$title, block $i of $n," "$tmp/fragment.c"
    done
done
tap_ok "$((programs < 20))" "doc/ has $programs blocks of C"

# Names in the text: calls and constants that the headers do not have.
cd "$srcdir" || exit 1
cat doc/*.md doc/*/*.md doc/sesqui.1 README.md CONTRIBUTING.md >"$tmp/text"
grep -rhoE 'ssq_[a-z0-9_]+' include lib/core/module/backend.h | sort -u >"$tmp/known"
grep -oE '\bssq_[a-z0-9_]*[a-z0-9]\b' "$tmp/text" | sort -u |
    grep -vxE 'ssq_(x|x_create|x_destroy)' >"$tmp/used"
comm -23 "$tmp/used" "$tmp/known" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/used") functions and types of the text exist"
grep -rhoE 'SSQ_[A-Z0-9_]+' include lib backends comms conformance tests kernels \
    m4 configure.ac |
    sort -u >"$tmp/known"
grep -oE '\bSSQ_[A-Z0-9_]*[A-Z0-9]\b' "$tmp/text" | sort -u >"$tmp/used"
comm -23 "$tmp/used" "$tmp/known" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/used") constants and variables of the text exist"

# Files in the text; a program is named without its .c.
for f in doc/*.md doc/*/*.md README.md CONTRIBUTING.md; do
    grep -oE '\b(include|lib|kernels|backends|comms|conformance|tests|tools|examples|doc|build-aux)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]' \
        "$f" | sort -u | sed "s|^|$f |"
    grep -oE '\]\([a-z0-9_./-]+\)' "$f" |
        sed "s|^](|$f $(dirname "$f")/|; s|)\$||"
done >"$tmp/used"
while read -r f file; do
    [ -e "$file" ] || [ -e "$file.c" ] || echo "$f: $file"
done <"$tmp/used" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/used") files and links of the text exist"

# C++ of the guide: whole programs of C++20.
awk '/^```/ { if (on) exit; on = $0 ~ /^```cpp$/; next } on' \
    "$guide/start.md" >"$tmp/step.cc"
lines=$(grep -c '' "$tmp/step.cc")
grep -q '^int main(' "$tmp/step.cc" && [ "$lines" -le 20 ]
tap_ok $? "the guide has a program in C++: $lines lines, at most 20"
for cxx in ${CXX:-none} clang++; do
    if ! command -v $cxx >"$tmp/out"; then
        tap_skip "no compiler $cxx" 'the program in C++20'
        continue
    fi
    tap_run "the program in C++20 compiles with $cxx" $cxx -std=c++20 -Wall \
        -Wextra -Wpedantic -Werror $CFLAGS -I"$srcdir/include" \
        -o "$tmp/step" "$tmp/step.cc" -L"$lib" -lsesqui &&
        SSQ_DEVICE=reference tap_run 'and trains' "$tmp/step"
done

# The man page and the program know the same options.
if [ -x "$builddir/sesqui" ]; then
    "$builddir/sesqui" --help | grep -oE -e '--[a-z]+' | sort -u >"$tmp/known"
    sed 's/\\-/-/g' doc/sesqui.1 | grep -oE -e '--[a-z]+' | sort -u |
        diff "$tmp/known" - >"$tmp/out" 2>&1
    tap_empty "sesqui(1) has the $(grep -c '' "$tmp/known") options of --help"
    "$builddir/sesqui" --help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' |
        while read -r c; do
            grep -q "^\.B $c\$" doc/sesqui.1 || echo "$c"
        done >"$tmp/out"
    tap_empty 'sesqui(1) describes every command'
fi
tap_done 30
