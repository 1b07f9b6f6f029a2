# SPDX-License-Identifier: Apache-2.0
# table.awk - from the headers of the ops, a table in C: every op with its
# arguments, what each member is, and what its comment says about it: dtypes,
# shape, whether it is written or may be NULL.
#
# Input: dtype.h and ops/*.h of include/sesqui as they are, comments included: they are the
# contract. An op that is added to a header is fuzzed without another line.

FNR == 1 { flush_file() }
{ text = text " " $0 }
END { flush_file(); print_table() }

function flush_file() {
    gsub(/[ \t]+/, " ", text)
    if (text != "")
        header(text)
    text = ""
}

# "B" or "R" as a comment says, else otherwise.
function class_in(s, otherwise) {
    if (match(s, /[Cc]lass [BR]/))
        return substr(s, RSTART + RLENGTH - 1, 1)
    return otherwise
}

function header(s,    of_file, at, head) {
    at = index(s, "#ifndef")
    of_file = class_in(substr(s, 1, at), "R")
    while (match(s, /typedef (struct|enum|ssq_)|SSQ_API SSQ_MUST_CHECK ssq_status ssq_/)) {
        head = substr(s, 1, RSTART - 1)
        s = substr(s, RSTART)
        if (s ~ /^typedef struct ssq_[a-z0-9_]+_args \{/)
            arguments(s)
        else if (s ~ /^typedef enum/)
            enumeration(s)
        else if (s ~ /^typedef ssq_/)
            same(s)
        else if (s ~ /^SSQ_API/)
            prototype(s, head, of_file)
        s = substr(s, 8)
    }
}

function same(s,    part) {
    sub(/;.*/, "", s)
    split(s, part, " ")
    real[part[3]] = part[2]
}

function enumeration(s,    name, n) {
    s = substr(s, 1, index(s, "} "))
    name = s
    sub(/^typedef enum /, "", name)
    sub(/ .*/, "", name)
    gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", s)
    n = gsub(/=/, "=", s)
    values[name] = n
}

# The comment that begins rest, if any; what follows is left in after.
function comment(rest,    end) {
    after = rest
    if (rest !~ /^ *\/\*\*?</)
        return ""
    end = index(rest, "*/")
    after = substr(rest, end + 2)
    rest = substr(rest, 1, end - 1)
    sub(/^ *\/\*\*?< */, "", rest)
    gsub(/ \* /, " ", rest)
    return rest
}

function arguments(s,    type, at, d) {
    sub(/^typedef struct /, "", s)
    type = s
    sub(/ .*/, "", type)
    s = substr(s, index(s, "{") + 1)
    s = substr(s, 1, index(s, "} " type) - 1)
    last[type] = ""
    while ((at = index(s, ";")) > 0) {
        d = substr(s, 1, at - 1)
        gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", d)
        gsub(/SSQ_[A-Z_0-9]+\([^()]*(\([^()]*\)[^()]*)*\)/, "", d)
        sub(/^ */, "", d)
        sub(/ *$/, "", d)
        d = d "\n" comment(substr(s, at + 1))
        s = after
        members(type, d)
    }
}

function members(type, d,    words, base, n, part, i, name, count, note) {
    note = d
    sub(/^[^\n]*\n/, "", note)
    sub(/\n.*/, "", d)
    if (d ~ /struct_size$/)
        return
    n = split(d, part, /, */)
    for (i = 1; i <= n; i++) {
        name = part[i]
        count = 1
        if (match(name, /\[([0-9]+|SSQ_MAX_RANK)\]/)) {
            count = substr(name, RSTART + 1, RLENGTH - 2)
            sub(/\[.*/, "", name)
        }
        sub(/ *$/, "", name)
        if (i == 1) {
            base = name
            sub(/[a-z_0-9]+$/, "", base)
            gsub(/ /, "", base)
        }
        sub(/.*[ *]/, "", name)
        if (base == "ssq_comm*") # stays NULL: ranks are for tests/comm
            continue
        names[type] = names[type] " " name
        fields[type, name] = "    {\"" name "\", offsetof(" type ", " name \
            "), sizeof(((" type " *)0)->" name "), " count ", " \
            kind(base, count, type "." name) ", " values_of(base) ", "
        if (base ~ /^constssq_tensor/)
            tensor(type, name, note)
    }
}

# How many values an enum has; its header may come later.
function values_of(base) {
    if (base !~ /^ssq_/)
        return 0
    enums[base] = 1
    return "values_" base
}

function kind(base, count, where) {
    if (base == "constssq_tensor*") return "FIELD_TENSOR"
    if (base == "constssq_tensor*const*") return "FIELD_TENSORS"
    if (base == "constchar*") return "FIELD_TEXT"
    if (count == "SSQ_MAX_RANK" && base == "int") return "FIELD_AXES"
    if (count == "SSQ_MAX_RANK" && base == "int64_t") return "FIELD_SIZES"
    if (base == "double") return "FIELD_DOUBLE"
    if (base == "bool") return "FIELD_BOOL"
    if (base ~ /^(int|int64_t)$/) return "FIELD_SIGNED"
    if (base ~ /^(uint32_t|uint64_t|size_t)$/) return "FIELD_UNSIGNED"
    if (base ~ /^ssq_/) return "FIELD_ENUM"
    print "table.awk: " where " has a type that is not known: " base \
        >"/dev/stderr"
    bad = 1
    return "FIELD_UNKNOWN"
}

function says(note, word) {
    return (" " note " ") ~ ("[^a-z0-9_]" word "[^a-z0-9_]")
}

function tensor(type, name, note,    mask) {
    tensors[type, name] = 1
    role[type, name] = "ROLE_IN"
    if (note ~ /^out/ || note ~ /^updated/ || \
        (note !~ /^in[^a-z]/ && says(note, "updated")))
        role[type, name] = "ROLE_OUT"
    mask = ""
    if (note ~ /any dtypes?/)
        mask = mask " | DTYPE_ANY"
    if (says(note, "float") || says(note, "floats"))
        mask = mask " | DTYPE_FLOAT"
    if (says(note, "integers"))
        mask = mask " | DTYPE_I32 | DTYPE_U8"
    if (says(note, "f32"))
        mask = mask " | DTYPE_F32"
    if (says(note, "i32"))
        mask = mask " | DTYPE_I32"
    if (says(note, "u8"))
        mask = mask " | DTYPE_U8"
    mask_of[type, name] = mask
    optional[type, name] = note ~ /optional|NULL/
    another[type, name] = note ~ /('s dtype|the dtype of)/
    shape_of[type, name] = shape(note)
    if (match(note, /as ssq_[a-z0-9_]+/))
        refers[type] = substr(note, RSTART + 3, RLENGTH - 3) "_args"
}

# A comment that says nothing means the forward op, or the one it names.
function inherit(type, name,    other, there) {
    if (mask_of[type, name] != "" && shape_of[type, name] != "")
        return
    other = type
    if (type in refers)
        other = refers[type]
    sub(/_backward.*/, "_args", other)
    while (other in real)
        other = real[other]
    there = name
    if (!((other, there) in tensors))
        sub(/^d/, "", there)
    if (other == type || !((other, there) in tensors))
        return
    inherit(other, there)
    if (mask_of[type, name] == "") {
        mask_of[type, name] = mask_of[other, there]
        another[type, name] = another[type, name] || another[other, there]
    }
    if (shape_of[type, name] == "")
        shape_of[type, name] = shape_of[other, there]
    if (name == there) {
        optional[type, name] = optional[type, name] || optional[other, there]
        if (type in refers)
            role[type, name] = role[other, there]
    }
}

# role, may be NULL, dtypes, the same dtype as another, shape
function tensor_text(type, name) {
    if (!((type, name) in tensors))
        return "0, 0, 0, 0, \"\""
    inherit(type, name)
    return role[type, name] ", " optional[type, name] + 0 ", 0" \
        mask_of[type, name] ", " another[type, name] + 0 ", \"" \
        shape_of[type, name] "\""
}

function print_fields(type,    i, n, part) {
    print "static const struct field fields_" type "[] = {"
    n = split(names[type], part, " ")
    for (i = 1; i <= n; i++)
        print fields[type, part[i]] tensor_text(type, part[i]) "},"
    print "    {\"\", 0, 0, 0, 0, 0, 0, 0, 0, 0, \"\"},\n};"
}

# The first thing that the comment says about the shape: "[m,k]", "=x" the
# shape of x, "1" one element, "~" broadcast to the first operand's, "".
function shape(note,    at, found, name) {
    at = 1000
    found = ""
    if (match(note, /\[[a-z0-9_., \/]*\]/) && RSTART < at && \
        substr(note, 1, RSTART) !~ /in \[$/) {
        at = RSTART
        found = substr(note, RSTART, RLENGTH)
    }
    if (match(note, /[a-z_]+'s shape/) && RSTART < at) {
        at = RSTART
        name = substr(note, RSTART, RLENGTH - 8)
        found = "=" name
    }
    if (match(note, /shape of [a-z_]+/) && RSTART < at) {
        at = RSTART
        found = "=" substr(note, RSTART + 9, RLENGTH - 9)
    }
    if (match(note, /one element|one f32/) && RSTART < at) {
        at = RSTART
        found = "1"
    }
    if (match(note, /broadcast to/) && RSTART < at)
        found = "~"
    gsub(/ /, "", found)
    return found
}

# The class of the op that the comment refers to, or else the file's.
function like(note, of_file,    name) {
    if (match(note, /[Aa]s ssq_[a-z0-9_]+/)) {
        name = substr(note, RSTART + 7, RLENGTH - 7)
        if (name in class)
            return class[name]
    }
    return of_file
}

function prototype(s, head, of_file,    name, type, note, at) {
    s = substr(s, 1, index(s, ";"))
    if (s !~ /\( ?ssq_queue \*queue, const ssq_[a-z0-9_]+_args \*args ?\)/)
        return
    name = s
    sub(/.*ssq_status ssq_/, "", name)
    sub(/ ?\(.*/, "", name)
    type = s
    sub(/.*, const /, "", type)
    sub(/ .*/, "", type)
    while ((at = index(head, "/** ")) > 0) {
        note = substr(head, at)
        head = substr(head, at + 3)
    }
    order[++count_ops] = name
    type_of[name] = type
    class[name] = class_in(note, like(note, of_file))
    whole[name] = note ~ /[Ff]loats or integers/
    bytes[name] = note ~ /y, u8/
}

function print_table(    i, name, type, init, t, used) {
    for (name in enums) {
        print "enum { values_" name " = " values[name] + 0 " };"
        bad = bad || !(name in values)
    }
    for (i = 1; i <= count_ops; i++) {
        name = order[i]
        type = type_of[name]
        while (type in real)
            type = real[type]
        init = type_of[name]
        sub(/_args$/, "", init)
        init = toupper(init) "_INIT"
        if (!(type in used))
            print_fields(type)
        used[type] = 1
        print "static const " type " init_" name " = " init ";"
        print "static ssq_status call_" name "(ssq_queue *q, const void *a)"
        print "{\n    return ssq_" name "(q, a);\n}"
        t = t "    {\"" name "\", \"" type "\", call_" name ", sizeof(" type "), &init_" \
            name ", fields_" type ", CLASS_" class[name] ", " whole[name] ", " bytes[name] \
            "},\n"
    }
    print "static const struct fuzz_op table[] = {\n" t "};"
    if (bad || count_ops == 0)
        exit 1
}
