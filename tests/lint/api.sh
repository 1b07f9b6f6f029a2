#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# api.sh - share/sesqui/api.json says what the headers say: every exported
# function, every struct with the compiler's sizes and offsets, and every
# constant with its value. So do the manual pages that are made of it.

. "${srcdir:-.}/tests/lint/tap.sh"
api=$builddir/api.json

# A line of each list, by its key: "    "NAME": {".
keys() {
    awk -v list="$1" '
        /^  "/ { on = index($0, "\"" list "\":") }
        on && /^    "/ { split($0, part, "\""); print part[2] }' "$api"
}

keys functions | sort >"$tmp/functions"
sort "$srcdir/tests/lint/symbols.txt" | grep '^ssq_' >"$tmp/symbols"
diff "$tmp/symbols" "$tmp/functions" >"$tmp/out"
tap_empty "it has the $(grep -c '' "$tmp/symbols") exported functions"

# Static assertions of all fields and constants.
{
    (cd "$srcdir/include" && find sesqui.h sesqui -name '*.h') |
        sort | sed 's/.*/#include <&>/'
    echo '#include <stddef.h>'
    awk '
    function text(name,    s) {
        s = $0
        if (!sub(".*\"" name "\": \"?", "", s))
            return ""
        sub(/[",}].*/, "", s)
        return s
    }
    function assert(s) {
        print "_Static_assert(" s ", \"" count++ "\");"
    }
    /^  "/ { split($0, part, "\""); list = part[2] }
    /^    "/ {
        split($0, part, "\"")
        name = part[2]
        if (list == "structs") {
            assert("sizeof(" name ") == " text("size"))
            assert("_Alignof(" name ") == " text("align"))
        }
        if (list == "constants") {
            value = $0
            sub(/.*: /, "", value)
            sub(/,$/, "", value)
            assert(name " == " value)
        }
    }
    /^      \{"name"/ && list == "structs" {
        at = name ", " text("name")
        assert("offsetof(" at ") == " text("offset"))
        if (text("count") != "")
            assert("sizeof(((" name " *)0)->" text("name") ") / sizeof(((" \
                name " *)0)->" text("name") "[0]) == " text("count"))
    }
    /^      \{"name"/ && list == "enums" {
        assert(text("name") " == " text("value"))
    }' "$api"
} >"$tmp/try.c"
n=$(grep -c '^_Static' "$tmp/try.c")
tap_ok "$((n < 1500))" "$n sizes, offsets and values"
tap_run 'they are the compiler'\''s' $CC -std=c11 -I"$srcdir/include" \
    -fsyntax-only "$tmp/try.c"

# Without Python the test of JSON's grammar is the package's.
if python=$(command -v python3); then
    tap_run 'it is JSON' "$python" -c 'import json, sys
seen = []
def pairs(p):
    names = [k for k, _ in p]
    assert len(names) == len(set(names)), "a name occurs twice"
    return dict(p)
a = json.load(open(sys.argv[1], encoding="ascii"), object_pairs_hook=pairs)
for name, s in a["structs"].items():
    want = [f["name"] for f in s["fields"]]
    assert "defaults" not in s or list(s["defaults"]) == want, name
for name, f in a["functions"].items():
    assert f["sync"] in ("host", "async", "waits"), name
    assert f["threads"] in ("any", "object"), name' "$api"
else
    tap_skip 'there is no python3' 'it is JSON'
fi

# The manual pages, as make man3 makes them.
man=$tmp/man3
mkdir "$man"
# shellcheck disable=SC2046
tap_run 'manual pages are made' ${AWK:-awk} -v out="$man" -v version=0 \
    -f "$srcdir/doc/man3.awk" $(find "$srcdir/include" -name '*.h*') "$api"
while read -r f; do
    [ -f "$man/$f.3" ] || echo "$f"
done <"$tmp/functions" >"$tmp/out"
tap_empty 'every function has one'
awk 'FNR == 1 { name = 0 }
    /^\.so man3\// { f = FILENAME; sub(/[^\/]*$/, substr($2, 6), f)
        if ((getline <f) < 1)
            print FILENAME ": no " f
        close(f)
        named++ }
    name && $0 !~ /^[a-zA-Z0-9_., ]+ \\- [^ ]/ { print FILENAME ": " $0 }
    name { named++ }
    { name = $0 == ".SH NAME" }
    END { if (named != ARGC - 1) print "some have no NAME" }' "$man"/*.3 \
    >"$tmp/out"
tap_empty 'each is a link to another or has a name and a description'

# has PAGE LINE...: the page has these lines, in this order.
has() {
    page=$1
    shift
    printf '%s\n' "$@" | awk 'FNR == NR { want[FNR] = $0; n = FNR; next }
        at < n && $0 == want[at + 1] { at++ }
        END { exit at < n }' - "$man/$page.3"
    tap_ok $? "the manual page of $page" || sed 's/^/#   /' "$man/$page.3"
}

has ssq_tensor_to_dlpack '.SH NAME' 'ssq_tensor_to_dlpack \- Export a tensor,'\
' without a copy unless args says so' '.SH SYNOPSIS' \
    '.B #include <sesqui/dlpack.h>' '.SH PARAMETERS' '.B args' \
    'NULL: all defaults' '.SH RETURN VALUE' '.B SSQ_ERR_UNSUPPORTED' \
    'the device is "guard"'
has ssq_gemm '.B #include <sesqui.h>' 'ssq_status ssq_gemm(' \
    '    const ssq_gemm_args *args);' '.SH RETURN VALUE' '.B SSQ_ERR_INVALID'
has ssq_gemm_args 'SSQ_GEMM, ssq_gemm_args \- Operands of ssq_gemm and'\
' ssq_gemm_batched' '    double beta;' '.B flags'
has ssq_add_var '.so man3/ssq_add_var_at.3'
has sesqui_sesqui.hpp 'sesqui_sesqui.hpp \- the library in C++17 and later'

tap_done 12
