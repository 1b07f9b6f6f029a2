#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# count-op.sh - the files that name an op: how many a new op like it needs.
#
# usage: sh build-aux/count-op.sh OP, in the top folder of a git checkout
#
# OP is a name in a manifest: a public function of lib/core/module/ops.h, a kind
# of kernels/elementwise/unary_kinds.h (unary functions) or of
# kernels/amp/kinds.h (optimizers), or a preset of lib/amp/scaler/presets.c.
#
# A file counts if it is code and has OP as a word, alone or in a longer name:
# ssq_OP, SSQ_OP, UNARY_OP, second_OP, step_OP, OP_backward, OP_var, OP_suite. A
# word that is, or begins with, a longer name of the same manifest does not
# count: softmax is not in log_softmax. A mention in a comment counts.
#
# Not code: pages (*.md, doc/, NEWS) and the texts that check them
# (tests/lint/rows), files that make or a program writes (the list `written`
# below), and inputs of the fuzzers.
#
# Three groups are printed:
#
#   files   all code of the library, and the tests that every op must be in:
#           all in conformance, and any test, tool, example or Python file that
#           names at least half of the manifest, because it lists all ops
#   scalar  kernels/scalar and tests/scalar: a scalar function of the same name,
#           from which the op is made. It may have existed before
#   uses    tests, tools, examples, bench and Python that name OP, but not half
#           of its manifest: they call it, and a new op does not need them. All
#           of python/torch-device and tests/torch too, which are a package of
#           its own: an op that it does not name runs on the CPU there
set -eu
op=${1-} awk=${AWK:-awk}
[ -n "$op" ] || {
    echo 'make count-op OP=NAME' >&2
    exit 2
}
git rev-parse --git-dir >/dev/null 2>&1 || {
    echo 'count-op: this is not a git checkout' >&2
    exit 1
}
written='
    include/sesqui/sesqui.hpp include/sesqui/vars.h include/sesqui/init.h
    lib/core/base/init.c tests/tape/golden.txt
    tests/lint/symbols.txt tests/lint/sizes.txt tests/lint/prose.txt'

# The names of each manifest, one a line.
unary() {
    sed -n 's/^ *[A-Z]*([0-9]*, \([a-z0-9_]*\), .*/\1/p' \
        kernels/elementwise/unary_kinds.h
}
optimizers() {
    sed -n 's/^ *[A-Z]*([0-9]*, \([a-z0-9_]*\), .*/\1/p' kernels/amp/kinds.h
}
presets() {
    sed -n 's/^ *{\.name = "\([^"]*\)",.*/\1/p' lib/amp/scaler/presets.c
}
entries() {
    sed -n '/^#define SSQ_OPS/,/[^\\]$/p' lib/core/module/ops.h | tr -d '\\\n'
}
functions() {
    entries | grep -oE '(HALF|FLOAT32|PROMOTE|ANY)\([a-z0-9_]+\)' |
        sed 's/.*(\(.*\))/\1/'
}
# The functions that tapes offer.
offered() {
    unary
    entries | grep -oE '\([a-z0-9_]+\) *TAPE' | sed 's/(\(.*\)).*/\1/'
}
has() {
    "$1" | grep -qxF -- "$op"
}
names=
for manifest in unary optimizers presets offered functions; do
    [ -n "$names" ] || ! has $manifest || names=$($manifest | tr '\n' ' ')
done
[ -n "$names" ] || {
    echo "count-op: no manifest has $op" >&2
    exit 1
}

# FILE N: the files that have the word, and how many names of the manifest.
# git grep finds the candidates.
git grep -lIi -e "$op" -- . ':!*.md' ':!doc' ':!NEWS' ':!tests/fuzz/corpus' \
    ':!tests/lint/rows' ':!tests/lint/rows.txt' |
    grep -vxF "$(printf '%s\n' $written)" |
    LC_ALL=C xargs "$awk" -v op="$op" -v names="$names" '
    BEGIN {
        size = split(names, name, " ")
        for (i = 1; i <= size; i++) {
            gsub(/-/, "_", name[i])
            is[name[i]] = 1
        }
        gsub(/-/, "_", op)
        prefix = "^(ssq|second|unary|opt|op|case|own|run|step|call|check|" \
            "kernel|reference|torch|c|b|v|g)_"
    }
    # The longest name of the manifest that a word is, or begins with.
    function named(word,    w) {
        w = tolower(word)
        while (!(w in is))
            if (!sub(/_[a-z0-9]*$/, "", w))
                return ""
        return w
    }
    function flush(    k) {
        if (op in seen) {
            n = 0
            for (k in seen)
                n++
            print file, n, size
        }
        split("", seen)
    }
    FNR == 1 { flush(); file = FILENAME }
    {
        k = split($0, word, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= k; i++) {
            w = tolower(word[i])
            found = named(w)
            if (found == "" && sub(prefix, "", w))
                found = named(w)
            if (found != "")
                seen[found] = 1
        }
    }
    END { flush() }' | LC_ALL=C sort | "$awk" -v op="$op" '
    function show(title, text, n) {
        if (n > 0)
            printf "%s: %d\n%s", title, n, text
    }
    {
        line = "    " $1 "\n"
        if ($1 ~ /^(kernels|tests)\/scalar\//) {
            scalar = scalar line
            nscalar++
        } else if ($1 ~ /^(python\/torch-device|tests\/torch)\// ||
            2 * $2 < $3 && $1 ~ /^(bench|examples|python|tests|tools)\//) {
            uses = uses line
            nuses++
        } else {
            files = files line
            nfiles++
        }
    }
    END {
        printf "%s: %d files\n%s", op, nfiles, files
        show("a scalar function of this name", scalar, nscalar)
        show("uses", uses, nuses)
    }'
