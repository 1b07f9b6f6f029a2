#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dialect.sh - kernel sources stay as doc/design/dialect.md says: short bodies,
# structs of parameters, few programs; and the page's own text compiles.
#
# Each rule is a function that prints what breaks it, and is tried on a text
# that does.

. "${srcdir:-.}/tests/lint/tap.sh"

page=doc/design/dialect.md
texts=$(cd "$srcdir" && find kernels -name '*.k' | LC_ALL=C sort)
CC=${CC:-cc}

# long_parts FILE...: bodies, functions and macros of more than 60 lines.
long_parts() {
    ${AWK:-awk} '
        function check(what, lines) {
            if (lines > 60)
                print FILENAME ":" FNR ": " what " of " lines " lines"
        }
        FNR == 1 { body = brace = macro = 0 }
        /^BODY/ { body = FNR }
        /^END$/ { check("a body", FNR - body - 1) }
        /^{/ { brace = FNR }
        /^}/ && brace { check("a function", FNR - brace - 1); brace = 0 }
        /^ *# *define/ && !macro { macro = FNR }
        macro && !/\\$/ { check("a macro", FNR - macro + 1); macro = 0 }' "$@"
}

# field_lists FILE...: macros that are lists of fields.
field_lists() {
    grep -nE '# *define +[A-Z_0-9]*FIELDS\b|\b[A-Z_0-9]+_FIELDS\b' "$@" \
        /dev/null
}

# programs TOP TEXT...: how many variants there are, if that is too many.
programs() {
    top=$1
    shift
    sh "$srcdir/kernels/embed.sh" list "$top" "$@" >"$tmp/programs"
    [ "$(grep -c '' "$tmp/programs")" -le 600 ] || grep -c '' "$tmp/programs"
}

cd "$srcdir" || exit 1
srcdir=.
code=$(find kernels lib backends comms -name '*.[chk]' -o -name '*.comp')
long_parts $(echo "$code" | grep '^kernels/') >"$tmp/out"
tap_empty 'no body, function or macro of a kernel is longer than 60 lines'
field_lists $code >"$tmp/out"
tap_empty 'parameters are structs, not lists of fields'
programs . $texts >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/programs") programs, 600 at most"

# lines N: print N lines.
lines() {
    ${AWK:-awk} -v n="$1" 'BEGIN { while (n-- > 0) print "x = x + 1u;" }'
}
{ echo BODY; lines 61; echo END; } >"$tmp/body.k"
{ echo 'FN u32 f(u32 x)'; echo '{'; lines 61; echo '}'; } >"$tmp/function.k"
{ echo '#define M(x) \'; lines 59 | sed 's/$/ \\/'; echo x; } >"$tmp/macro.k"
for what in body function macro; do
    long_parts "$tmp/$what.k" >"$tmp/out"
    tap_ok "$(($(grep -c "a $what of 61 lines" "$tmp/out") != 1))" \
        "a $what of 61 lines is found"
done
{ echo BODY; lines 60; echo END; } >"$tmp/short.k"
long_parts "$tmp/short.k" >"$tmp/out"
tap_empty 'a body of 60 lines is none'
echo '#define ROW_FIELDS u32 n;' >"$tmp/fields.k"
field_lists "$tmp/fields.k" >"$tmp/out"
tap_ok "$(($(grep -c '' "$tmp/out") != 1))" 'a list of fields is found'
{
    echo '/* many.k - keys: */'
    echo '/* '
    echo ' * keys: A B'
    echo ' * variants: 0-199 0-3 */'
} >"$tmp/many.k"
programs "$tmp" many.k >"$tmp/out"
tap_ok "$(($(cat "$tmp/out") != 800))" '800 programs are found'

# The page: all that it names exists.
grep -oE '`[a-zA-Z0-9_/.-]+`' "$page" | tr -d '`' | grep / |
    grep -v '/$' | sort -u >"$tmp/files"
while read -r f; do
    [ -e "$f" ] || echo "$f"
done <"$tmp/files" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/files") files of $page exist"
grep -oE '`[A-Z][A-Z_0-9]+[`(]|`[a-z0-9_]+[`(]' "$page" | tr -d '`(' |
    grep -vxE '(f|bf)16|f32|i32|u8|variants' | sort -u >"$tmp/names"
while read -r name; do
    grep -qw -- "$name" $code || echo "$name"
done <"$tmp/names" >"$tmp/out"
tap_empty "$(grep -c '' "$tmp/names") names of $page exist"
${AWK:-awk} '/^```/ { on = /^```c$/; next } on' "$page" >"$tmp/page.k"
tap_run "the text of $page is C" $CC -x c -std=c11 -ffp-contract=off -Wall \
    -Wextra -Wno-unused-function -Werror -DX=2 -DWG=1 -I. -c \
    -o "$tmp/page.o" "$tmp/page.k"
if command -v glslc >/dev/null 2>&1; then
    tap_run "the text of $page is GLSL" glslc -std=450core -Werror -DX=2 \
        -fshader-stage=compute --target-env=vulkan1.1 -DWG=64 -I. \
        -o "$tmp/page.spv" "$tmp/page.k"
else
    tap_skip 'no glslc' "the text of $page is GLSL"
fi
tap_done 13
