#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# calls.sh - print doc/calls.md: which calls wait, and which threads may call
# them, from the marks @sync and @threads of the public headers.
#
# usage: sh build-aux/calls.sh INCLUDE
set -eu
LC_ALL=C
export LC_ALL
top=$(cd "$(dirname "$0")" && pwd)

cat <<'END'
# Which calls wait, and which threads may call them

The headers state both for each call, with the marks `@sync` and `@threads`. `make update-calls` writes this page from
them, and `tests/lint/marks.sh` compares it with the headers and with the calls that the library's code makes.

| device | meaning |
|---|---|
| host | The call does nothing on the device, and does not wait for it. |
| async | The call enqueues work and returns before the work has run. |
| waits | The call waits for the device. |

| threads | meaning |
|---|---|
| any | Threads may make the call at the same time, also with the same objects. |
| object | Threads may make the call at the same time if they do not use the same object. Otherwise the program must lock. For example, two threads may each use a queue of one device. |
END
cd "$1"
# shellcheck disable=SC2046
${AWK:-awk} -f "$top/marks.awk" $(find sesqui -name '*.h' | sort) |
    ${AWK:-awk} -F '\t' '
    # Neighbours with the same marks share a row.
    function row() {
        if (calls != "")
            print "| " calls " | " device " | " threads " |"
        calls = ""
    }
    function column(class, rest) {
        return class (rest == "" ? "" : " " rest)
    }
    $1 != header {
        row()
        header = $1
        print "\n## `<" header ">`\n\n| call | device | threads |\n|---|---|---|"
    }
    {
        sub(/_at$/, "", $2)
        if (column($3, $4) != device || column($5, $6) != threads)
            row()
        device = column($3, $4)
        threads = column($5, $6)
        if ($1 == "sesqui/init.h")
            calls = "`ssq_..._init`"
        else
            calls = calls (calls == "" ? "" : ", ") "`" $2 "`"
    }
    END { row() }'
