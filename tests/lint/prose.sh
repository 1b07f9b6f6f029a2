#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prose.sh - the English of comments and pages gets no worse: of each directory
# prose.txt has the most turns of phrase for 1,000 words. The number may only
# fall.
#
# usage: prose.sh            the test
#        prose.sh --update   lower the numbers to what there is
#        prose.sh FILE...    the lines of these files that are counted
#
# prose.words says what is counted, and CONTRIBUTING.md how to write instead.

srcdir=${srcdir:-.}
lint=$srcdir/tests/lint
case ${1-} in
--update | '') ;;
*)
    exec ${AWK:-awk} -v PHRASES="$lint/prose.words" -v LINES=1 \
        -f "$lint/prose.awk" "$@"
    ;;
esac

. "$lint/tap.sh"

# The files of a directory that prose.txt names; of "." the pages on top.
files() {
    case $1 in
    .) ls "$srcdir"/*.md "$srcdir/NEWS" ;;
    *) find "$srcdir/$1" -type f \( -name '*.[chk]' -o -name '*.cc' -o \
        -name '*.sh' -o -name '*.md' \) ! -path '*/.*' \
        ! -path '*/prebuilt_*.h' ! -path '*/kernels/spirv/*' ;;
    esac | LC_ALL=C sort
}

# For 1,000 words, with one decimal.
rate() {
    files "$1" | xargs ${AWK:-awk} -v PHRASES="$lint/prose.words" \
        -f "$lint/prose.awk" |
        awk '{ w += $1; n += $2 } END { printf "%.1f\n", w ? 1000 * n / w : 0 }'
}

# at_most A B: is A at most B?
at_most() {
    awk "BEGIN { exit !($1 <= $2) }"
}

while read -r directory most; do
    case $directory in '#'*) continue ;; esac
    is=$(rate "$directory")
    if [ "${1-}" = --update ] && at_most "$is" "$most"; then
        most=$is
    fi
    echo "$directory $most" >>"$tmp/new"
    at_most "$is" "$most"
    tap_ok $? "$directory: $is turns of phrase for 1,000 words, at most $most" ||
        echo "# sh tests/lint/prose.sh FILE... shows the lines"
done <"$lint/prose.txt"
if [ "${1-}" = --update ]; then
    { grep '^#' "$lint/prose.txt" && cat "$tmp/new"; } >"$tmp/all"
    cp "$tmp/all" "$lint/prose.txt"
fi
tap_done 8
