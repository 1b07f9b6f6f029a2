# SPDX-License-Identifier: Apache-2.0
# api.awk - the public headers as JSON: doc/api.md describes the result.
#
# Input, by build-aux/api.sh:
#   1. cc -E -C of all public headers, with line markers and comments
#   2. a line "@@"
#   3. lines @ "STRUCT" INITIALIZER: the expansion of its SSQ_..._INIT
#   4. lines $ "MACRO" EXPANSION: the expansion of every other macro
#   5. lines % "HEADER" "FUNCTION" "SYNC" "THREADS", of marks.awk
#
# Sizes and offsets are LP64's, which all targets have:
# tests/lint/api.sh compares them with the compiler's.

function trim(s) {
    gsub(/[ \t\n]+/, " ", s)
    sub(/^ /, "", s)
    sub(/ $/, "", s)
    return s
}

# A C comment as text: paragraphs and lists keep their lines.
function comment_text(s,    n, line, i, out) {
    sub(/^\/\*+<? ?/, "", s)
    sub(/[ \n]*\*\/$/, "", s)
    n = split(s, line, "\n")
    for (i = 1; i <= n; i++) {
        sub(/^ *\* ?/, "", line[i])
        if (i > 1)
            sub(/^ /, "", line[i])
        sub(/ +$/, "", line[i])
        out = out (i > 1 ? "\n" : "") line[i]
    }
    return out
}

function flat(s) {
    return trim(comment_text(s))
}

function quoted(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/"/, "\\\"", s)
    gsub(/\t/, "\\t", s)
    gsub(/\n/, "\\n", s)
    return "\"" s "\""
}

# Up to the first full stop, or paragraph.
function summary(doc,    s) {
    s = doc
    sub(/\n\n.*/, "", s)
    sub(/\n *@.*/, "", s)
    s = trim(s)
    if (match(s, /\.( |$)/))
        s = substr(s, 1, RSTART)
    return s
}

# Take comments out of a declaration.
function bare(s,    out, end) {
    while (match(s, /\/\*/)) {
        out = out substr(s, 1, RSTART - 1) " "
        s = substr(s, RSTART)
        end = index(s, "*/")
        s = substr(s, end + 2)
    }
    return trim(out s)
}

# "const ssq_tensor *x" becomes part_type and part_name; "int64_t shape[6]" has
# part_count 6; a pointer to a function has the type "function *".
function parameter(s,    at) {
    s = trim(s)
    part_count = ""
    if (match(s, /\(\*[A-Za-z_0-9]+\)/)) {
        part_name = substr(s, RSTART + 2, RLENGTH - 3)
        part_type = "function *"
        return
    }
    if (match(s, /\[[^]]*\]$/)) {
        part_count = substr(s, RSTART + 1, RLENGTH - 2)
        s = trim(substr(s, 1, RSTART - 1))
        if (part_count in constant)
            part_count = constant[part_count]
    }
    match(s, /[A-Za-z_0-9]+$/)
    part_name = substr(s, RSTART)
    part_type = trim(substr(s, 1, RSTART - 1))
    if (part_type == "") { # a parameter without a name
        part_type = part_name
        part_name = ""
    }
}

function is_pointer(type) {
    return type ~ /\*( ?const)?$/
}

function base(type) {
    sub(/^const /, "", type)
    return type
}

function size_of(type) {
    type = base(type)
    if (is_pointer(type) || type in callback)
        return 8
    if (type in size)
        return size[type]
    if (type in enum)
        return 4
    print "api.awk: the size of " type " is not known" >"/dev/stderr"
    bad = 1
    return 8
}

function align_of(type) {
    type = base(type)
    if (type in struct_align)
        return struct_align[type]
    return size_of(type)
}

# ---- declarations ----

# Split a list of parameters at the commas outside parentheses.
function parameters_of(list, part,    n, i, c, depth) {
    for (i in part)
        delete part[i]
    if (list == "void")
        return 0
    n = 1
    for (i = 1; i <= length(list); i++) {
        c = substr(list, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && depth == 0)
            n++
        else
            part[n] = part[n] c
    }
    return n
}

function add_function(d, doc,    head, list, n, part, k, name, out, depth) {
    d = bare(d)
    if (!match(d, /[A-Za-z_0-9]+ ?\(/))
        return
    name = substr(d, RSTART, RLENGTH)
    head = trim(substr(d, 1, RSTART - 1))
    list = substr(d, RSTART + RLENGTH)
    sub(/ ?\($/, "", name)
    sub(/\)[^)]*$/, "", list)
    sub(/^extern /, "", head)
    if (name !~ /^ssq_/)
        return
    functions[++nfunctions] = name
    result[name] = head
    function_doc[name] = doc
    function_header[name] = header
    n = parameters_of(list, part)
    for (k = 1; k <= n; k++) {
        parameter(part[k])
        out = out (k > 1 ? ", " : "") "{\"name\": " quoted(part_name) \
            ", \"type\": " quoted(part_count != "" || part[k] ~ /\[/ ? \
            part_type " *" : part_type) "}"
    }
    parameters[name] = out
}

function add_callback(d, doc,    name, head, list, n, part, k, out) {
    d = bare(d)
    sub(/^typedef /, "", d)
    match(d, /\(\*[A-Za-z_0-9]+\)/)
    name = substr(d, RSTART + 2, RLENGTH - 3)
    head = trim(substr(d, 1, RSTART - 1))
    list = substr(d, RSTART + RLENGTH)
    sub(/^ ?\(/, "", list)
    sub(/\)[^)]*$/, "", list)
    callback[name] = 1
    callbacks[++ncallbacks] = name
    n = parameters_of(list, part)
    for (k = 1; k <= n; k++) {
        parameter(part[k])
        out = out (k > 1 ? ", " : "") "{\"name\": " quoted(part_name) \
            ", \"type\": " quoted(part_type) "}"
    }
    callback_json[name] = "\"doc\": " quoted(doc) ", \"header\": " \
        quoted(header) ", \"result\": " quoted(head) ", \"params\": [" out "]"
}

function add_field(type, name, count, doc,    bytes, align, n) {
    n = ++fields[struct_name]
    bytes = size_of(type)
    align = align_of(type)
    struct_at = int((struct_at + align - 1) / align) * align
    field_name[struct_name, n] = name
    field_type[struct_name, n] = type
    field_count[struct_name, n] = count
    field_offset[struct_name, n] = struct_at
    field_doc[struct_name, n] = doc
    struct_at += bytes * (count == "" ? 1 : count)
    if (align > struct_most)
        struct_most = align
}

function add_struct(d, doc,    body, c, text, before, n, part, k, type, s, end) {
    struct_name = d
    sub(/.*\}/, "", struct_name)
    struct_name = bare(struct_name)
    body = d
    sub(/^[^{]*\{/, "", body)
    sub(/\}[^}]*$/, "", body)
    structs[++nstructs] = struct_name
    struct_doc[struct_name] = doc
    struct_header[struct_name] = header
    struct_at = 0
    struct_most = 1
    before = ""
    while (match(body, /\/\*|;/)) {
        text = text substr(body, 1, RSTART - 1)
        body = substr(body, RSTART)
        if (substr(body, 1, 1) == "/") {
            end = index(body, "*/") + 1
            c = substr(body, 1, end)
            body = substr(body, end + 1)
            # one of the next field, or of a default that the compiler dropped
            if (trim(text) == "")
                before = flat(c)
            else
                before = before (before == "" ? "" : " ") flat(c)
            continue
        }
        body = substr(body, 2)
        # a comment behind the semicolon is of this field
        if (match(body, /^[ \n]*\/\*\*</)) {
            end = index(body, "*/") + 1
            c = substr(body, RSTART + RLENGTH - 4, end - (RSTART + RLENGTH - 5))
            before = flat(c)
            body = substr(body, end + 1)
        }
        s = trim(text)
        text = ""
        if (s ~ /\(\*/) {
            parameter(s)
            add_field(part_type, part_name, "", before)
        } else {
            n = split(s, part, ",")
            parameter(part[1])
            type = part_type
            add_field(type, part_name, part_count, before)
            for (k = 2; k <= n; k++) {
                c = trim(part[k])
                if (c ~ /^\*/)
                    sub(/^\*/, "", c)
                parameter(type " " c)
                add_field(type, part_name, part_count, before)
            }
        }
        before = ""
    }
    size[struct_name] = int((struct_at + struct_most - 1) / struct_most) * \
        struct_most
    struct_align[struct_name] = struct_most
}

function add_enum(d, doc,    name, body, n, part, k, pair, value, c, at, end) {
    name = d
    sub(/.*\}/, "", name)
    name = bare(name)
    body = d
    sub(/^[^{]*\{/, "", body)
    sub(/\}[^}]*$/, "", body)
    enum[name] = 1
    enums[++nenums] = name
    enum_doc[name] = doc
    enum_header[name] = header
    value = -1
    n = 0
    # a constant, then its comment
    while (match(body, /[A-Za-z][A-Za-z_0-9]*( *= *[-0-9a-fx]+[uU]?)?,?/)) {
        at = index(body, "/*")
        if (at > 0 && at < RSTART) {
            end = index(body, "*/") + 1
            c = flat(substr(body, at, end - at + 1))
            if (n > 0 && enum_constant_doc[name, n] == "")
                enum_constant_doc[name, n] = c
            body = substr(body, end + 1)
            continue
        }
        c = substr(body, RSTART, RLENGTH)
        body = substr(body, RSTART + RLENGTH)
        sub(/,$/, "", c)
        split(c, pair, "=")
        value = c ~ /=/ ? trim(pair[2]) + 0 : value + 1
        k = trim(pair[1])
        n++
        enum_constant[name, n] = k
        enum_value[name, n] = value
        constant[k] = value
    }
    at = index(body, "/*")
    if (at > 0 && n > 0 && enum_constant_doc[name, n] == "")
        enum_constant_doc[name, n] = flat(substr(body, at,
            index(body, "*/") + 2 - at))
    enum_count[name] = n
}

function declare(d, doc,    word) {
    if (d ~ /^typedef enum/) {
        add_enum(d, doc)
    } else if (d ~ /^typedef (struct|union) [A-Za-z_0-9]*[ \n]*\{/) {
        add_struct(d, doc)
    } else if (d ~ /^typedef .*\(\*[A-Za-z_0-9]+\)/) {
        add_callback(d, doc)
    } else if (d ~ /^typedef struct /) {
        split(trim(bare(d)), word, " ")
        opaque[++nopaque] = word[4]
    } else if (d ~ /^typedef /) {
        split(trim(bare(d)), word, " ")
        alias[++naliases] = word[3]
        alias_of[word[3]] = word[2]
        size[word[3]] = size[word[2]]
        struct_align[word[3]] = struct_align[word[2]]
    } else {
        add_function(d, doc)
    }
}

# Cut the text of one header into declarations, each with the comment before it.
function cut(text,    doc, c, d, depth, end, token) {
    d = ""
    depth = 0
    doc = ""
    while (match(text, /\/\*|[{};]/)) {
        token = substr(text, RSTART, RLENGTH)
        d = d substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        if (token == "/*") {
            end = index(text, "*/")
            c = "/*" substr(text, 1, end + 1)
            text = substr(text, end + 2)
            if (trim(d) == "") {
                doc = c ~ /^\/\*\*/ ? comment_text(c) : ""
                d = ""
            } else
                d = d c
            continue
        }
        if (token == "{")
            depth++
        if (token == "}")
            depth--
        if (token == ";" && depth == 0) {
            sub(/^[ \t\n]+/, "", d)
            declare(d, doc)
            # calls in a row, without a line between them, share a comment
            if (substr(text, 1, 2) == "\n\n")
                doc = ""
            d = ""
        } else
            d = d token
    }
}

# ---- defaults ----

# Up to 13 digits, which a double holds.
function from_hex(digits,    i, n) {
    for (i = 1; i <= length(digits); i++)
        n = 16 * n + index("0123456789abcdef", substr(digits, i, 1)) - 1
    return sprintf("%.0f", n)
}

# A scalar of an initializer as JSON, for a field of this type.
function scalar(s, type,    v) {
    s = trim(s)
    if (s ~ /^sizeof/) {
        gsub(/^sizeof ?\(|\)$/, "", s)
        return size_of(trim(s))
    }
    if (is_pointer(type) || base(type) in callback)
        return "null"
    if (s in constant)
        s = constant[s]
    if (match(s, /^\(\([a-z_0-9]+\) ?-1\)$/))
        return -1
    # INT64_MIN of glibc, and of musl, which also has hexadecimal limits
    if (s == "(-9223372036854775807L -1)" || s == "(-1-0x7fffffffffffffff)")
        return "-9223372036854775808"
    if (s == "(-1-0x7fffffff)")
        return "-2147483648"
    if (s ~ /^\(?0xffffffffffffffffu?\)?$/)
        return "18446744073709551615"
    if (s ~ /^"/)
        return s
    if (s ~ /^'.'$/)
        return code[substr(s, 2, 1)]
    if (type == "bool")
        return s + 0 ? "true" : "false"
    sub(/^\([a-z0-9_]+\) ?/, "", s)
    sub(/^\(/, "", s)
    sub(/\)$/, "", s)
    sub(/[uUlLf]+$/, "", s)
    if (split(s, shifted, " ?<< ?") == 2)
        s = sprintf("%.0f", shifted[1] * 2 ^ shifted[2])
    if (s ~ /^0x[0-9a-f]+$/)
        s = from_hex(substr(s, 3))
    if (s !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/) {
        print "api.awk: " s " is no number" >"/dev/stderr"
        bad = 1
    }
    return s
}

# The next element of an initializer, from rest: up to a comma at depth 0.
function next_element(    depth, i, c, out, text) {
    depth = text = 0
    for (i = 1; i <= length(rest); i++) {
        c = substr(rest, i, 1)
        if (c == "\"" || c == "'")
            text = !text
        if (!text && (c == "{" || c == "("))
            depth++
        if (!text && (c == "}" || c == ")"))
            depth--
        if (c == "," && depth == 0 && !text)
            break
    }
    out = trim(substr(rest, 1, i - 1))
    rest = substr(rest, i + 1)
    return out
}

function unbraced(s) {
    sub(/^ *\{/, "", s)
    sub(/\} *$/, "", s)
    return s
}

# The initializer of a struct, with or without braces, as a JSON object.
function struct_default(name, s,    n, k, saved, out) {
    saved = rest
    if (name in alias_of)
        name = alias_of[name]
    for (k = 1; k <= fields[name]; k++) {
        rest = k == 1 ? unbraced(s) : rest
        out = out (k > 1 ? ", " : "") quoted(field_name[name, k]) ": "
        out = out value(field_type[name, k], field_count[name, k], \
            trim(rest) == "" ? "" : next_element())
    }
    rest = saved
    return "{" out "}"
}

function array_default(type, count, s,    k, saved, out, one) {
    if (s ~ /^"/ || (type == "char" && s == ""))
        return s == "" ? "\"\"" : s
    saved = rest
    rest = unbraced(s)
    for (k = 1; k <= count; k++) {
        one = trim(rest) == "" ? "" : next_element()
        out = out (k > 1 ? ", " : "") value(type, "", one)
    }
    rest = saved
    return "[" out "]"
}

function value(type, count, s,    plain) {
    plain = base(type)
    if (count != "")
        return array_default(type, count, s)
    if (plain in fields && !is_pointer(type))
        return struct_default(plain, s)
    if (s == "")
        s = "0"
    sub(/^\{ ?/, "", s)
    sub(/ ?\}$/, "", s)
    return scalar(s, type)
}

# ---- input ----

BEGIN {
    n = split("char 1 bool 1 _Bool 1 uint8_t 1 int8_t 1 uint16_t 2 int16_t 2 " \
        "int 4 unsigned 4 int32_t 4 uint32_t 4 float 4 int64_t 8 uint64_t 8 " \
        "size_t 8 double 8 uintptr_t 8 long 8", known, " ")
    for (i = 1; i < n; i += 2)
        size[known[i]] = known[i + 1]
    for (i = 32; i < 127; i++)
        code[sprintf("%c", i)] = i
    constant["SSQ_MAX_RANK"] = 6
}

!second && /^@@$/ {
    second = 1
    next
}

!second && /^# [0-9]+ "/ {
    # a header is cut after the ones that it includes: when it ends
    if (ours && $4 == 2 && !(file in ended)) {
        ended[file] = 1
        headers[++nheaders] = file
    }
    file = $3
    gsub(/"/, "", file)
    sub(/^\.\//, "", file)
    ours = file ~ /^sesqui(\.h$|\/)/
    next
}

!second {
    if (ours)
        text_of[file] = text_of[file] $0 "\n"
    next
}

$1 == "$" {
    name = $2
    gsub(/"/, "", name)
    s = $0
    sub(/^\$ *"[^"]*" */, "", s)
    s = trim(s)
    if (s ~ /^\(?-?(0x[0-9a-f]+|[0-9]+)[uUL]*\)?$/)
        number_of[name] = s
    next
}

$1 == "@" {
    name = $2
    gsub(/"/, "", name)
    s = $0
    sub(/^@ *"[^"]*" */, "", s)
    if (!(name in initializer))
        initializer[name] = s
    next
}

$1 == "%" {
    split($0, mark, "\"")
    sync[mark[4]] = mark[6]
    threads[mark[4]] = mark[8]
}

# ---- output ----

function begin(what) {
    printf "%s\n  %s: {", (sections++ ? "," : ""), quoted(what)
    lines = 0
}

function line(key, s) {
    printf "%s\n    %s: {%s}", (lines++ ? "," : ""), quoted(key), s
}

function end() {
    printf "\n  }"
}

function put_structs(    i, k, name, s, f) {
    begin("structs")
    for (i = 1; i <= nstructs; i++) {
        name = structs[i]
        s = "\"header\": " quoted(struct_header[name]) ", \"doc\": " \
            quoted(struct_doc[name]) ", \"size\": " size[name] \
            ", \"align\": " struct_align[name] ", \"fields\": ["
        for (k = 1; k <= fields[name]; k++) {
            f = field_count[name, k]
            s = s (k > 1 ? "," : "") "\n      {\"name\": " \
                quoted(field_name[name, k]) ", \"type\": " \
                quoted(field_type[name, k]) ", \"offset\": " \
                field_offset[name, k] (f == "" ? "" : ", \"count\": " f) \
                ", \"doc\": " quoted(field_doc[name, k]) "}"
        }
        s = s "]"
        if (name in initializer)
            s = s ",\n      \"defaults\": " \
                struct_default(name, initializer[name])
        line(name, s)
    }
    end()
}

function put_functions(    i, name) {
    begin("functions")
    for (i = 1; i <= nfunctions; i++) {
        name = functions[i]
        line(name, "\"header\": " quoted(function_header[name]) \
            ", \"result\": " quoted(result[name]) ", \"params\": [" \
            parameters[name] "], \"sync\": " quoted(sync[name]) \
            ", \"threads\": " quoted(threads[name]) ", \"summary\": " \
            quoted(summary(function_doc[name])) ", \"doc\": " \
            quoted(function_doc[name]))
    }
    end()
}

END {
    for (name in number_of) {
        s = number_of[name]
        gsub(/[()uUL]/, "", s)
        if (s !~ /x/)
            constant[name] = s + 0
    }
    for (i = 1; i <= nheaders; i++) {
        header = headers[i]
        cut(text_of[header])
    }
    printf "{"
    printf "\n  \"version\": %s", quoted(version)
    sections = 1
    begin("constants")
    n = 0
    for (name in number_of)
        sorted[++n] = name
    for (i = 2; i <= n; i++) # mawk has no sort
        for (k = i; k > 1 && sorted[k] < sorted[k - 1]; k--) {
            s = sorted[k]
            sorted[k] = sorted[k - 1]
            sorted[k - 1] = s
        }
    for (i = 1; i <= n; i++) {
        s = number_of[sorted[i]]
        gsub(/[()uUL]/, "", s)
        if (s ~ /x/)
            continue # JSON has no such numbers
        printf "%s\n    %s: %s", (lines++ ? "," : ""), quoted(sorted[i]), s + 0
    }
    end()
    begin("enums")
    for (i = 1; i <= nenums; i++) {
        name = enums[i]
        s = "\"header\": " quoted(enum_header[name]) ", \"doc\": " \
            quoted(enum_doc[name]) ", \"values\": ["
        for (k = 1; k <= enum_count[name]; k++)
            s = s (k > 1 ? "," : "") "\n      {\"name\": " \
                quoted(enum_constant[name, k]) ", \"value\": " \
                enum_value[name, k] ", \"doc\": " \
                quoted(enum_constant_doc[name, k]) "}"
        line(name, s "]")
    }
    end()
    put_structs()
    begin("aliases")
    for (i = 1; i <= naliases; i++)
        printf "%s\n    %s: %s", (lines++ ? "," : ""), quoted(alias[i]), \
            quoted(alias_of[alias[i]])
    end()
    printf ",\n  \"opaque\": ["
    for (i = 1; i <= nopaque; i++)
        printf "%s%s", (i > 1 ? ", " : ""), quoted(opaque[i])
    printf "]"
    begin("callbacks")
    for (i = 1; i <= ncallbacks; i++)
        line(callbacks[i], callback_json[callbacks[i]])
    end()
    put_functions()
    print "\n}"
    exit bad
}
