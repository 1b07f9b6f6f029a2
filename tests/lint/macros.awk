# SPDX-License-Identifier: Apache-2.0
# macros.awk - how many macros of several lines have two statements or more.
# Semicolons between parentheses, as in the head of a loop, do not count.

function finish(    i, c, depth, statements)
{
    for (i = 1; i <= length(body); i++) {
        c = substr(body, i, 1)
        if (c == "(")
            depth++
        else if (c == ")")
            depth--
        else if (c == ";" && depth <= 0)
            statements++
    }
    if (lines > 1 && statements > 1)
        macros++
}

/^ *# *define/ && !open { open = 1; lines = 0; body = "" }
open {
    lines++
    body = body $0 " "
    if ($0 !~ /\\$/) {
        finish()
        open = 0
    }
}
END { print macros + 0 }
