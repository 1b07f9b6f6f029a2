#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# commit.sh - write a header with the commit of the source, if the commit has
# changed.
#
# usage: sh build-aux/commit.sh SOURCE HEADER
#
# A release has the commit in a file, which `make dist` writes. The commit of a
# checkout is git's, with "+changes" if tracked files differ from it.
set -eu
source=$1 header=$2
commit=unknown
if [ -f "$source/commit.txt" ]; then
    read -r commit <"$source/commit.txt"
elif [ -e "$source/.git" ] && command -v git >/dev/null 2>&1 &&
    hash=$(git -C "$source" rev-parse --short=12 HEAD 2>/dev/null); then
    commit=$hash
    git -C "$source" diff --quiet HEAD 2>/dev/null || commit=$hash+changes
fi
text="/* made by build-aux/commit.sh: do not edit */
#define COMMIT \"$commit\""
[ ! -f "$header" ] || [ "$text" != "$(cat "$header")" ] || exit 0
mkdir -p "$(dirname "$header")"
echo "$text" >"$header.$$"
mv "$header.$$" "$header"
