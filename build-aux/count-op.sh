#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# count-op.sh - how many files it took to add an op, from version control.
#
# usage: sh build-aux/count-op.sh OP, in the top folder of a git checkout
#
# The commit is the first one with the op's entry in the list of ops. The list
# is lib/core/module/ops.h now, and was an ops.h elsewhere before. A kind of an
# op, for example a unary function or an optimizer, has its line in the list of
# its kinds. Files that are not code are listed for readers.
set -eu
op=${1-}
[ -n "$op" ] || {
    echo 'make count-op OP=glu' >&2
    exit 2
}
git rev-parse --git-dir >/dev/null 2>&1 || {
    echo 'count-op: this is no git checkout' >&2
    exit 1
}
commit=$(git log --reverse --format=%H --pickaxe-regex \
    -S"X[(]$op[,)]|[A-Z]+[(][0-9]+, $op," -- '*ops.h' \
    kernels/elementwise/unary_kinds.h kernels/amp/kinds.h | head -n 1)
[ -n "$commit" ] || {
    echo "count-op: no commit has $op in a list of ops or kinds" >&2
    exit 1
}
git log -1 --format='%s' "$commit"
git diff-tree --no-commit-id --name-status --no-renames -r "$commit" | awk '
    $2 ~ /^(doc\/|NEWS$)|\.md$/ { also = also " " $2; next }
    { print "    " $1 " " $2; n++ }
    END { print n " files of code" (also == "" ? "" : "; beside them" also) }'
