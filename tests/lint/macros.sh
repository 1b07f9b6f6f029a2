#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# macros.sh - macros of several statements in kernels/: no more than below.
#
# Such a macro uses names of the place where it stands. A function whose
# arguments and result are structs says what it reads and what it sets. These
# bounds only fall: lower them if macros have gone, and never raise them.

. "${srcdir:-.}/tests/lint/tap.sh"

# all: macros of two statements and more, in all files together. A file: all of
# its macros.
bounds() {
    cat <<'END'
all 150
kernels/amp/param_step.k 19
kernels/amp/grad_check.k 18
kernels/amp/machine.h 12
kernels/operands/runs.h 40
kernels/scalar/pair.h 3
END
}

count() {
    if [ "$1" = all ]; then
        find "$srcdir/kernels" -name '*.k' -o -name '*.h' | sort |
            xargs "${AWK:-awk}" -f "$srcdir/tests/lint/macros.awk"
    else
        grep -c '^ *# *define ' "$srcdir/$1"
    fi
}

bounds >"$tmp/bounds"
while read -r file most; do
    n=$(count "$file")
    tap_ok $((n > most)) "$file: $n macros, at most $most"
done <"$tmp/bounds"
tap_done 1
