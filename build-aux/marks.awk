# SPDX-License-Identifier: Apache-2.0
# marks.awk - the marks @sync and @threads of each public call.
#
# Input: public headers. Output, separated by tabs: header, call, class of @sync,
# the rest of its text, class of @threads, the rest of its text, the text of
# @deprecated. A call without its own mark @sync or @threads has the mark of the
# head comment. "-": the mark is missing.

# Add the words of a line to the mark that is open.
function add(s) {
    sub(/^ *\*+/, "", s)
    sub(/\*\/.*/, "", s)
    gsub(/^ +| +$/, "", s)
    if (s == "")
        open = ""
    else
        text[open] = text[open] " " s
}

# Set out["sync"] and out["threads"] of the comment that ends here.
function close_comment() {
    where = head_done ? "own" : "head"
    for (m in text)
        mark[where, m] = text[m]
    for (m in text)
        delete text[m]
    head_done = 1
    open = ""
}

function of(m,    s) {
    s = ("own", m) in mark ? mark["own", m] : mark["head", m]
    sub(/^ +/, "", s)
    return s == "" ? "-" : s
}

# "waits for the queue" becomes "waits<tab>for the queue".
function parts(s,    class) {
    class = s
    sub(/[ ,.].*/, "", class)
    s = substr(s, length(class) + 1)
    sub(/^[ ,.]+/, "", s)
    sub(/\.$/, "", s)
    return class "\t" s
}

FNR == 1 {
    for (m in mark)
        delete mark[m]
    head_done = comment = 0
    declared = ""
    header = FILENAME
    sub(/.*include\//, "", header)
    next # the line of the licence
}

!comment && /\/\*/ && !/\/\*\*</ {
    comment = 1
    delete mark["own", "sync"]
    delete mark["own", "threads"]
    delete mark["own", "deprecated"]
}

comment {
    if (match($0, /@[a-z]+/)) {
        open = substr($0, RSTART + 1, RLENGTH - 1)
        rest = substr($0, RSTART + RLENGTH)
        if (open ~ /^(sync|threads|deprecated)$/) {
            text[open] = ""
            add(rest)
        } else
            open = ""
    } else if (open != "")
        add($0)
    if (/\*\//) {
        comment = 0
        close_comment()
    }
    next
}

/^SSQ_API/ { declared = " " }

declared != "" {
    declared = declared $0 " "
    if ($0 !~ /;/)
        next
    if (match(declared, /ssq_[a-z0-9_]+ ?\(/)) {
        name = substr(declared, RSTART, RLENGTH)
        sub(/ ?\(/, "", name)
        print header "\t" name "\t" parts(of("sync")) "\t" \
            parts(of("threads")) "\t" of("deprecated")
    }
    declared = ""
}
