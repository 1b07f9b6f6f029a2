# SPDX-License-Identifier: Apache-2.0
# rows.awk - the tables of doc/coming-from.md as C: a function for each row.
#
# The code of a row is what stands between backquotes in its last column:
#
#   a == b, a < b, ...   must be true
#   f(...)               must be SSQ_OK, or a pointer that is not NULL
#   a = b                a statement
#   else                 an expression, which has to compile
#
# A row has a call, an assignment or a comparison, or it begins with "nothing:"
# (there is nothing to do here) or "not yet:". Wrong rows go to the file ERRORS
# and counts to COUNTS.

function emit(code) {
    if (code ~ / (==|!=|<|>|<=|>=) /)
        printf " ROW_TRUE(%s);", code
    else if (code ~ /^[a-z_0-9]+\(.*\)$/)
        printf " ROW(%s);", code
    else if (code ~ / = /)
        printf " %s;", code
    else {
        printf " (void)(%s);", code
        return 0
    }
    return 1
}

!/^\|/ { body = 0; next }
/^\|---/ { body = 1; next }
!body { next }
{
    n = split($0, cell, "|")
    ours = cell[n - 1]
    sub(/^ */, "", ours)
    rows++
    what = cell[2]
    gsub(/["\\]/, "\\\\&", what)
    gsub(/^ *| *$/, "", what)
    names[rows] = "line " NR ": " what
    printf "#line %d \"doc/coming-from.md\"\n", NR
    printf "static ssq_status row_%d(void) {\n", rows
    does = 0
    pieces = split(ours, piece, "`")
    for (i = 2; i <= pieces; i += 2)
        does += emit(piece[i])
    print " return SSQ_OK; }"
    if (ours ~ /^not yet:/)
        not_yet++
    else if (ours ~ /^nothing:/)
        nothing++
    else if (!does)
        print NR ": no call, assignment or comparison:" $0 >ERRORS
}
END {
    print "static const struct row rows[] = {"
    for (i = 1; i <= rows; i++)
        printf "    {row_%d, \"%s\"},\n", i, names[i]
    print "};"
    print rows + 0, nothing + 0, not_yet + 0 >COUNTS
}
