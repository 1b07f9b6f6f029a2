#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# links.sh - whether all links and pictures of a site are files of it.
#
# usage: links.sh FOLDER
# Links to other sites are not opened. Prints each link that leads nowhere.
cd "$1" || exit 1
grep -Ho '\(href\|src\)="[^"]*"' ./*.html | sed 's/^\.\///; s/\(href\|src\)="//
    s/"$//' | grep -v ':\(https\{0,1\}:\|mailto:\|javascript:\|#\|data:\|$\)' |
    sed 's/[#?].*//' | sort -u | {
    n=0 wrong=0
    while IFS=: read -r page link; do
        n=$((n + 1))
        [ -e "$link" ] || {
            echo "$page: $link is missing" >&2
            wrong=$((wrong + 1))
        }
    done
    echo "$n links, $wrong wrong"
    [ "$n" -gt 100 ] && [ "$wrong" -eq 0 ]
}
