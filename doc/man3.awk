# SPDX-License-Identifier: Apache-2.0
# man3.awk - make manual pages of section 3: one for each function, callback,
# struct and enum, of api.json; one for each header, of the comment at its head.
# Macros and other names of a struct are links to these.
#
# usage: awk -v out=DIRECTORY -v version=VERSION -f man3.awk HEADER... api.json

FILENAME ~ /\.(h|hpp)$/ { header_line($0); next }
FNR == 1 { reach("sesqui.h") }
/^  "/ { split($0, part, "\""); list = part[2]; next }
/^    "ssq_[a-z0-9_]*": / { split($0, part, "\""); name = part[2]; keep(name, $0); next }
/^      \{"name"/ { member[name, n_members[name]++] = $0 }
END {
    for (header in head)
        header_page(header)
    for (i = 1; i <= n_names; i++)
        if (kind[names[i]] == "aliases")
            link(names[i], value(line[names[i]], names[i]))
    for (i = 1; i <= n_names; i++)
        if (kind[names[i]] ~ /^(functions|callbacks|structs|enums)$/)
            page(names[i])
}

# ---- input ----

function header_line(s) {
    if (FNR == 1) {
        header = FILENAME
        sub(/.*include\//, "", header)
        inside = 0
        macro = ""
    }
    if (FNR == 2)
        inside = sub(/^\/\* [^ ]* - /, "", s)
    if (inside) {
        sub(/^ \* ?/, "", s)
        inside = !sub(/ *\*\/$/, "", s)
        head[header] = head[header] s "\n"
    } else if (s ~ /^#include <sesqui/) {
        gsub(/.*<|>.*/, "", s)
        includes[header] = includes[header] " " s
    }
    macro = s ~ /^#define / ? s : macro s
    if (macro ~ /^#define ssq_[a-z0-9_]+\(/) {
        gsub(/^#define |\(.*/, "", macro)
        macro_of[macro "_at"] = macro
    } else if (macro ~ /^#define SSQ_[A-Z0-9_]+\(.*SSQ_ARGS\(ssq_/) {
        match(macro, /SSQ_ARGS\([a-z0-9_]*/)
        name = substr(macro, RSTART + 9, RLENGTH - 9)
        gsub(/^#define |\(.*/, "", macro)
        macros[name] = macros[name] " " macro
        macro = ""
    }
}

# All headers that <sesqui.h> includes.
function reach(header,    part, i, n) {
    if (header in reached)
        return
    reached[header] = 1
    n = split(includes[header], part, " ")
    for (i = 1; i <= n; i++)
        reach(part[i])
}

function keep(name, s) {
    names[++n_names] = name
    kind[name] = list
    line[name] = s
}

# The text of a key in a line of JSON.
function value(s, key) {
    if (!match(s, "\"" key "\": \"([^\"\\\\]|\\\\.)*\""))
        return ""
    s = substr(s, RSTART + length(key) + 5, RLENGTH - length(key) - 6)
    gsub(/\\"/, "\"", s)
    gsub(/\\n/, "\n", s)
    gsub(/\\\\/, "\\", s)
    return s
}

# ---- output ----

function put(s) { print s >file }

# A line of text for troff.
function escaped(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s ~ /^[.']/ ? "\\&" s : s
}

function open_page(name, also, summary) {
    file = out "/" name ".3"
    sub(/[.:]? *$/, "", summary)
    put(".TH " name " 3 \"\" \"sesqui " version "\" \"libsesqui\"")
    put(".nh\n.ad l\n.SH NAME")
    put(also name " \\- " escaped(summary))
}

function link(name, to) {
    file = out "/" name ".3"
    put(".so man3/" to ".3")
    close(file)
    also_of[to] = also_of[to] name ", "
}

# The comment of a declaration: paragraphs, lists of " - ", code that is
# indented by four, and the sections that @param, @return and @note begin. An
# item ends at a line that begins before its text.
function text(s,    lines, n, i, x) {
    n = split(s, lines, "\n")
    tag = ""
    column = code = nested = 0
    blank = 1
    for (i = 1; i <= n; i++) {
        x = lines[i]
        if (match(x, /^@[a-z]+ ?/)) {
            tag = substr(x, 2, RLENGTH - 1)
            sub(/ $/, "", tag)
            section(tag)
            tagged(substr(x, RLENGTH + 1), RLENGTH)
        } else if (tag !~ /^(sync|threads)$/) {
            match(x, /^ */)
            untagged(substr(x, RLENGTH + 1), RLENGTH, x)
        }
        blank = x == ""
    }
    leave()
}

# End code and an inner list.
function leave() {
    if (code)
        put(".fi")
    if (nested)
        put(".RE")
    if (code || nested)
        put(".PP")
    code = nested = 0
}

function section(tag,    title) {
    leave()
    column = 0
    title = tag == "param" ? "PARAMETERS" : tag == "return" ? "RETURN VALUE" : \
        tag == "note" ? "NOTES" : ""
    if (title != "" && title != last_section)
        put(".SH " title)
    if (title != "")
        last_section = title
}

# A line after its tag, whose text begins after `at` characters.
function tagged(x, at) {
    if (tag == "param" && match(x, /^[^ ]+ */)) {
        item(substr(x, 1, RLENGTH), substr(x, RLENGTH + 1))
        column = 1
    } else if (tag == "return" && match(x, /^SSQ_[A-Z_, ]*[A-Z](  +|$)/)) {
        item(substr(x, 1, RLENGTH), substr(x, RLENGTH + 1))
        column = at + RLENGTH
    } else if (tag !~ /^(sync|threads)$/) {
        put(escaped(x))
    }
}

# Another line, which begins after `at` spaces.
function untagged(x, at, line) {
    if (x == "") {
        leave()
        put(".PP")
        column = 0
    } else if (match(x, /^- SSQ_[A-Z_, ]*[A-Z]  +/)) {
        item(substr(x, 3, RLENGTH - 2), substr(x, RLENGTH + 1))
        column = at + RLENGTH
    } else if (x ~ /^- /) {
        if (at >= 4 && !nested)
            put(".RS")
        nested = at >= 4 ? at + 2 : 0
        put(".IP \\(bu 2")
        put(escaped(substr(x, 3)))
        column = nested ? column : at + 2
    } else if (x ~ /^\([a-z]\) /) {
        put(".IP " substr(x, 1, 3) " 4")
        put(escaped(substr(x, 5)))
        column = at + 4
    } else if (tag == "" && column == 0 && at >= 4 && (code || blank)) {
        if (!code)
            put(".PP\n.nf")
        code = 1
        put(escaped(substr(line, 5)))
    } else {
        if (code || nested > at)
            leave()
        if (!nested && column > at) {
            put(".PP")
            column = 0
        }
        put(escaped(x))
    }
}

function item(name, s) {
    leave()
    sub(/ +$/, "", name)
    put(".TP\n.B " escaped(name))
    if (s != "")
        put(escaped(s))
}

# Print the marks: those of the comment, else the defaults of the header.
function marks(s, sync, threads,    more) {
    put(".SH WAITING AND THREADS")
    more = marked(s, "sync")
    put(more ~ /[^a-z]/ || sync !~ /^(host|async|waits)/ ? \
        escaped(toupper(substr(more, 1, 1)) substr(more, 2)) "." : \
        sync == "async" ? "It enqueues work and returns before it has run." : \
        sync == "host" ? "It does nothing on the device." : \
        "It waits for the device.")
    put(".PP")
    put("Threads may call it at the same time" \
        (threads == "any" ? ", also with the same objects." : \
        " with different objects; otherwise the caller must lock."))
    more = marked(s, "threads")
    if (sub(/^[a-z]+[ ;,]+/, "", more))
        put(escaped(toupper(substr(more, 1, 1)) substr(more, 2)) ".")
}

# The text of a mark in a comment, without its last stop.
function marked(s, mark,    more) {
    if (!match(s, "(^|\n)@" mark " [^@]*"))
        return ""
    more = substr(s, RSTART, RLENGTH)
    sub(/^\n?@[a-z]+ /, "", more)
    gsub(/[ \n]+/, " ", more)
    sub(/[. ]*$/, "", more)
    return more
}

# ---- pages ----

function header_page(header,    name, s, summary) {
    name = header
    gsub("/", "_", name)
    s = head[header]
    match(s, /\.[ \n]|\n\n/)
    summary = substr(s, 1, RSTART - 1)
    s = substr(s, RSTART + 2)
    sub(/^\n+/, "", s)
    gsub(/\n/, " ", summary)
    open_page(name, "", summary)
    put(".SH SYNOPSIS\n.B #include <" header ">")
    put(".SH DESCRIPTION")
    text(s)
    close(file)
}

function page(name,    s, doc, header, summary, part, n, i) {
    s = line[name]
    doc = value(s, "doc")
    header = value(s, "header")
    summary = first_sentence(doc)
    if (summary == "")
        summary = name ~ /_init$/ ? "Set a struct to its defaults" : \
            name ~ /_args$/ ? "Arguments of " substr(name, 1, \
            length(name) - 5) : "See <" header ">"
    n = split(macros[name], part, " ")
    for (i = 1; i <= n; i++)
        link(part[i], name)
    if (name in macro_of)
        link(macro_of[name], name)
    last_section = ""
    open_page(name, also_of[name], summary)
    put(".SH SYNOPSIS\n.nf\n.B #include <" \
        (header in reached ? "sesqui.h" : header) ">\n.PP")
    synopsis(name, s)
    put(".fi")
    if (doc != "") {
        put(".SH DESCRIPTION")
        text(doc)
    }
    if (kind[name] ~ /^(structs|enums)$/)
        members(name)
    if (kind[name] == "functions")
        marks(doc, value(s, "sync"), value(s, "threads"))
    put(".SH SEE ALSO")
    see(name, s, header)
    close(file)
}

function first_sentence(s) {
    sub(/\n\n.*|\n +- .*|(^|\n)@.*/, "", s)
    gsub(/\n/, " ", s)
    return match(s, /[^ .]\. +[A-Z]/) ? substr(s, 1, RSTART) : s
}

function declared(type, name) {
    return type ~ /\*$/ ? type name : type " " name
}

function synopsis(name, s,    part, n, i, args, type) {
    if (kind[name] ~ /^(structs|enums)$/) {
        put(kind[name] == "structs" ? "typedef struct {" : "typedef enum {")
        for (i = 0; i < n_members[name]; i++) {
            s = member[name, i]
            type = value(s, "type")
            n = match(s, /"count": [0-9]+/) ? \
                "[" substr(s, RSTART + 9, RLENGTH - 9) "]" : ""
            put(kind[name] == "structs" ? \
                "    " declared(type, value(s, "name")) n ";" : \
                "    " value(s, "name") " = " \
                (match(s, /"value": [-0-9]+/) ? \
                substr(s, RSTART + 9, RLENGTH - 9) : "") ",")
        }
        put("} " name ";")
        return
    }
    n = split(s, part, /\{"name"/)
    for (i = 2; i <= n; i++) {
        type = "{\"name\"" part[i]
        args = args (i > 2 ? ",\n    " : "") \
            declared(value(type, "type"), value(type, "name"))
    }
    type = kind[name] == "callbacks" ? "(*" name ")" : name
    s = value(s, "result")
    put((kind[name] == "callbacks" ? "typedef " : "") declared(s, type) "(" \
        (n > 2 ? "\n    " : "") (args == "" ? "void" : args) ");")
}

function members(name,    i) {
    put(".SH " (kind[name] == "structs" ? "MEMBERS" : "VALUES"))
    for (i = 0; i < n_members[name]; i++)
        if (value(member[name, i], "doc") != "") {
            item(value(member[name, i], "name"), "")
            text(value(member[name, i], "doc"))
        }
}

# The types of a function's parameters that have pages, and the header's page.
function see(name, s, header,    part, n, i, type, seen) {
    n = split(s, part, /"type": "/)
    for (i = 2; i <= n; i++)
        if (match(part[i], /^[a-z ]*ssq_[a-z0-9_]+/)) {
            type = substr(part[i], 1, RLENGTH)
            sub(/.* /, "", type)
            if (type in line && !(type in seen))
                put(".BR " type " (3),")
            seen[type] = 1
        }
    gsub("/", "_", header)
    put(".BR " header " (3)")
}
