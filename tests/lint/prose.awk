# prose.awk - turns of phrase that plain technical English hardly uses, counted
# in comments and pages.
#
# usage: awk -v PHRASES=FILE [-v LINES=1] -f prose.awk FILE...
#
# PHRASES has a regular expression a line. They are matched in lines whose words
# and marks are apart by one space, in small letters, with a space at both ends.
# Prints "WORDS PHRASES FILE" for each file; with LINES=1 the lines that have
# such a phrase, as "FILE:LINE: TEXT".

BEGIN {
    while ((getline line <PHRASES) > 0)
        if (line != "" && line !~ /^#/)
            phrase[++phrases] = line
}

FNR == 1 {
    report()
    file = FILENAME
    words = marks = inside = code = 0
    page = file ~ /\.md$/ || file ~ /(^|\/)NEWS$/
}

# What is prose of the line.
function prose(line, out, at) {
    if (page) {
        if (line ~ /^```/) {
            code = !code
            return ""
        }
        if (code || line ~ /^    /)
            return ""
        gsub(/`[^`]*`/, "X", line)
        return line
    }
    out = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            out = out " " (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            inside = !at
        } else if ((at = index(line, "/*")) > 0) {
            inside = 1
            line = substr(line, at + 2)
        } else {
            if (match(line, /\/\/.*/))
                out = out " " substr(line, RSTART + 2)
            else if (line ~ /^[ \t]*#/ &&
                     line !~ /^[ \t]*#[ \t]*(if|el|end|def|un|inc|pragma|err|!)/)
                out = out " " substr(line, index(line, "#") + 1)
            line = ""
        }
    }
    sub(/^[ \t]*\*+</, "", out)
    sub(/^[ \t]*\*+/, "", out)
    return out
}

{
    text = prose($0)
    n = split(text, word)
    if (n == 0)
        next
    words += n
    line = tolower(text)
    gsub(/[.:;,()]/, " & ", line)
    gsub(/[ \t]+/, " ", line)
    line = " " line " "
    found = 0
    for (i = 1; i <= phrases; i++) {
        rest = line
        while (match(rest, phrase[i])) {
            found++
            rest = " " substr(rest, RSTART + RLENGTH)
        }
    }
    marks += found
    if (found > 0 && LINES)
        print file ":" FNR ":" text
}

END {
    report()
}

function report() {
    if (file != "" && !LINES)
        print words + 0, marks + 0, file
}
