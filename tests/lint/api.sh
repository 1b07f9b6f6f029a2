#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# api.sh - share/sesqui/api.json says what the headers say: every exported
# function, every struct with the compiler's sizes and offsets, and every
# constant with its value.

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

tap_done 4
