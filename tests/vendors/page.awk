# SPDX-License-Identifier: Apache-2.0
# page.awk - a page with new rows in its tables; and what has changed.
#
# usage: awk -v changes=FILE -f page.awk ROWS PAGE
#
# ROWS has fields with tabs between them. A row of a table of PAGE begins with
# the first field in quotes, "| `radv:navi31` |", and gets the other fields as
# its cells. Rows without new fields stay, and new ones follow the last of the
# table that has the same number of cells. FILE gets a line for each cell that
# differs, but not for those named "seconds" and "date".

function cells(row, cell,    n, i) {
    gsub(/^\| *| *\|$/, "", row)
    n = split(row, cell, / *\| */)
    for (i = 1; i <= n; i++)
        gsub(/`/, "", cell[i])
    return n
}

# The row of key, in Markdown.
function written(key,    i, row, cell, n) {
    n = split(fields[key], cell, "\t")
    row = "| `" key "` |"
    for (i = 2; i <= n; i++)
        row = row " " cell[i] " |"
    used[key] = 1
    return row
}

function compare(key, old,    i, n, new) {
    n = split(fields[key], new, "\t")
    for (i = 2; i <= n; i++)
        if (new[i] != old[i] && head[i] != "seconds" && head[i] != "date")
            print key ": " head[i] ": " old[i] " was, " new[i] " is" >changes
}

# Print the fields for which the table has no row yet.
function append(    i, n, new) {
    for (i = 1; i <= keys; i++)
        if (!(order[i] in used) && split(fields[order[i]], new, "\t") == width) {
            print written(order[i])
            print order[i] ": is new" >changes
        }
}

NR == FNR {
    key = $0
    sub(/\t.*/, "", key)
    fields[key] = $0
    order[++keys] = key
    next
}
/^\|---/ {
    width = cells(before, head)
    inside = 1
    print
    next
}
inside && !/^\|/ {
    append()
    inside = 0
}
inside {
    cells($0, cell)
    if (cell[1] in fields) {
        compare(cell[1], cell)
        $0 = written(cell[1])
    }
}
{
    before = $0
    print
}
END {
    if (inside)
        append()
}
