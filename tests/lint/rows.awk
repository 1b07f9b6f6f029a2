# SPDX-License-Identifier: Apache-2.0
# rows.awk - the tables of a page of doc/coming-from/ as C: a function for each
# row.
#
# The code of a row is what stands between backquotes in its last column:
#
#   a == b, a < b, ...   must be true
#   f(...)               must be SSQ_OK, or a pointer that is not NULL, or a var
#                        of a tape without an error; f in VOIDS is just called
#   a = b                a statement
#   ...; or ...}         statements, as they are
#   else                 an expression, which has to compile
#
# The file CHECKS has what else is checked of a row. The text of the row's first
# column stands on its own line, and below it, indented:
#
#   with NAME   before the row: with_NAME() of rows.h must be SSQ_OK
#   then EXPR   after it: must be true
#
# A row has a call, an assignment or a comparison, or it begins with "nothing:"
# (there is nothing to do here). Wrong rows go to the file ERRORS, counts to
# COUNTS, and the cells of the first column to CELLS.

BEGIN {
    while ((getline line <VOIDS) > 0)
        void[line]
    while ((getline line <CHECKS) > 0)
        if (line ~ /^    (with|then) /) {
            kind = substr(line, 5, 4)
            check[key, kind, ++of[key, kind]] = substr(line, 10)
        } else if (line != "" && line !~ /^#/) {
            key = line
            unused[key]
        }
}

# The text with escapes, as in a string of C.
function quoted(text) {
    gsub(/["\\]/, "\\\\&", text)
    return text
}

function emit(code,    name) {
    name = code
    sub(/\(.*/, "", name)
    if (code ~ /[;}]$/)
        printf " %s;", code
    else if (code ~ / (==|!=|<|>|<=|>=) /)
        printf " ROW_TRUE(%s);", code
    else if (code ~ /^[a-z_0-9]+\(.*\)$/ && name in void)
        printf " %s;", code
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

# Emit the checks of a row, of kind "with" or "then".
function checked(cell, kind,    i) {
    delete unused[cell]
    for (i = 1; i <= of[cell, kind]; i++)
        if (kind == "with")
            printf " ROW(with_%s());", check[cell, kind, i]
        else
            printf " ROW_TRUE(%s);", check[cell, kind, i]
    checks += kind == "then" ? of[cell, kind] : 0
}

function row(cell, ours,    does, n, piece, i) {
    rows++
    gsub(/^ *| *$/, "", cell)
    print cell >CELLS
    names[rows] = "line " NR ": " quoted(cell)
    printf "#line %d \"%s\"\n", NR, PAGE
    printf "static ssq_status row_%d(void) {\n", rows
    checked(cell, "with")
    n = split(ours, piece, "`")
    for (i = 2; i <= n; i += 2)
        does += emit(piece[i])
    checked(cell, "then")
    print ours ~ /SSQ_ERR_/ ? " return SSQ_OK; }" : " return row_use(); }"
    if (ours ~ /not yet/)
        print NR ": waits for something: " cell >ERRORS
    if (ours ~ /^ *nothing:/)
        nothing++
    else if (!does)
        print NR ": no call, assignment or comparison:" $0 >ERRORS
}

!/^\|/ { body = 0; next }
/^\|---/ { body = 1; next }
body {
    n = split($0, cell, "|")
    row(cell[2], cell[n - 1])
}
END {
    print "static const struct row rows[] = {"
    for (i = 1; i <= rows; i++)
        printf "    {row_%d, \"%s\"},\n", i, names[i]
    print "};"
    print rows + 0, nothing + 0, checks + 0 >COUNTS
    for (key in unused)
        print CHECKS ": no row " key >ERRORS
}
