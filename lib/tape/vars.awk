# SPDX-License-Identifier: Apache-2.0
# vars.awk - generates what tapes know of each op: with -v want=table the table
# in C that lib/tape/vars.c includes, with -v want=second the list of rules that
# lib/tape/second.h includes, with -v want=header include/sesqui/vars.h.
#
# Input, in this order: the headers of the ops (include/sesqui/ops/*.h),
# list=kinds and the list of unary functions
# (kernels/elementwise/unary_kinds.h), list=ops and the manifest
# (lib/core/module/ops.h), which explains the words of TAPE.
#
# An op needs no line here. Its struct of arguments gives the names of its
# operands, which ones are optional, and its options. The struct of its backward
# gives by its names where operands come from: x is the operand of the forward
# op, dy the gradient of its result y, dx the gradient of its operand x. The
# words of TAPE say what the headers cannot.

list == "" { header_line($0); next }
list == "kinds" { kind_line($0); next }
list == "ops" { manifest_line($0) }
END {
    manifest(entries)
    if (nops == 0)
        fail("the manifest offers no op to tapes")
    if (!failed && want == "table")
        table_end()
    if (!failed && want == "second")
        second_end()
    if (!failed && want == "header")
        header_end()
    exit failed
}

function fail(text) {
    print "vars.awk: " text >"/dev/stderr"
    failed = 1
}

# ---- headers ----

# Structs, their aliases, and the struct that each function takes.
function header_line(line,    part) {
    if (line ~ /^typedef struct ssq_[a-z0-9_]+_args \{/) {
        split(line, part, " ")
        type = part[3]
        body = ""
    } else if (line ~ /^\} ssq_[a-z0-9_]+_args;/) {
        members(type, body)
        type = ""
    } else if (type != "") {
        body = body " " line
    } else if (line ~ /^typedef ssq_[a-z0-9_]+_args/) {
        alias = line
    } else if (alias != "") {
        alias = alias " " line
    } else if (line ~ /^SSQ_API SSQ_MUST_CHECK/) {
        call = ""
        calling = 1
    }
    if (alias ~ /;/) {
        sub(/;.*/, "", alias)
        split(alias, part, " ")
        real[part[3]] = part[2]
        alias = ""
    }
    if (calling)
        call = call " " line
    if (calling && line ~ /;/) {
        calling = 0
        if (match(call, /ssq_status +ssq_[a-z0-9_]+\( *ssq_queue \*queue,/)) {
            name = substr(call, RSTART, RLENGTH)
            sub(/^ssq_status +ssq_/, "", name)
            sub(/\(.*/, "", name)
            home[name] = FILENAME
            sub(/.*\//, "ops/", home[name])
            if (match(call, /const ssq_[a-z0-9_]+_args \*args/))
                takes[name] = substr(call, RSTART + 6, RLENGTH - 12)
        }
    }
}

# The members of a struct, in their order, and which of them are optional. A
# comment follows its member's semicolon, or precedes the semicolon.
function members(type, s,    at, d, note) {
    gsub(/SSQ_DEFAULT\( *\{[^}]*\}\)/, "", s)
    while ((at = index(s, ";")) > 0) {
        if (match(s, /\/\*([^*]|\*+[^*\/])*\*+\//) && RSTART < at) {
            note = substr(s, RSTART, RLENGTH)
            s = substr(s, 1, RSTART - 1) " " substr(s, RSTART + RLENGTH)
            if (note ~ /[^a-z]optional/)
                inside = 1
            continue
        }
        d = substr(s, 1, at - 1)
        s = substr(s, at + 1)
        note = ""
        if (match(s, /^ *\/\*\*?<([^*]|\*+[^*\/])*\*+\//)) {
            note = substr(s, RSTART, RLENGTH)
            s = substr(s, RLENGTH + 1)
        }
        member(type, d, inside || note ~ /[^a-z]optional/)
        inside = 0
    }
}

function member(type, d, is_optional,    n, part, i, base, name) {
    gsub(/SSQ_DEFAULT\(([^()]|\([^()]*\))*\)/, "", d)
    gsub(/[ \t]+/, " ", d)
    sub(/^ /, "", d)
    sub(/ $/, "", d)
    if (d ~ /struct_size$/)
        return
    n = split(d, part, / ?, ?/)
    for (i = 1; i <= n; i++) {
        name = part[i]
        sub(/\[.*/, "", name)
        if (i == 1) {
            base = name
            sub(/[a-z_0-9]+$/, "", base)
        }
        sub(/.*[ *]/, "", name)
        fields[type] = fields[type] " " name
        kind[type, name] = base ~ /^const ssq_tensor \*$/ ? "tensor" : "option"
        if (is_optional)
            optional[type, name] = 1
    }
}

function args_of(name,    t) {
    t = takes[name]
    return t in real ? real[t] : t
}

function upper(name) {
    sub(/^ssq_/, "", name)
    sub(/_args$/, "", name)
    return toupper(name)
}

# ---- the manifest ----

# A line of UNARY_KINDS with a gradient: its name, in unary[], its class and its
# words.
function kind_line(line,    part) {
    if (line !~ /^ +(BOTH|SIGNED)\([0-9]+, /)
        return
    if (split(line, part, ", ") < 6)
        fail("the traits of " part[2] " are not in the first line of its kind")
    unary[nunary++] = part[2]
    class[part[2]] = tolower(part[4])
    words[part[2]] = "y:like" (part[5] ~ /DX_OF_Y/ ? " x=y" : "")
}

# The text of SSQ_OPS, as one line.
function manifest_line(line) {
    if (line ~ /^#define SSQ_OPS\(/)
        inside = 1
    else if (inside) {
        if (line !~ /\\$/)
            inside = 0
        sub(/\\$/, "", line)
        entries = entries line
    }
}

# Every function of the manifest that tapes offer, in its order.
function manifest(s,    name, i, left, part) {
    left = gsub(/TAPE\(/, "&", s)
    while (match(s, /[A-Z0-9]+\([a-z0-9_]+\) *TAPE\([^()]*\)|UNARY_FUNCTIONS/)) {
        name = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        if (name == "UNARY_FUNCTIONS") {
            for (i = 0; i < nunary; i++)
                op(unary[i], words[unary[i]])
            continue
        }
        match(name, /TAPE\(.*\)/)
        i = substr(name, RSTART + 5, RLENGTH - 6)
        sub(/\).*/, "", name)
        split(name, part, /[(]/)
        name = part[2]
        class[name] = tolower(part[1])
        op(name, i)
        left--
    }
    if (left > 0)
        fail("a word TAPE of the manifest does not follow a function")
}

# ---- ops ----

function op(name, words_of,    i, n, word, part, list) {
    type = args_of(name)
    if (type == "") {
        fail(name " is no op of a header")
        return
    }
    split("", rule)
    split("", source)
    nouts = nvars = nbacks = 0
    backward = own = as_is = full = same = ""
    list = ""
    n = split(words_of, word, " ")
    for (i = 1; i <= n; i++)
        if (split(word[i], part, ":") == 2) {
            outs[nouts] = part[1]
            rule[part[1]] = part[2]
            place[part[1]] = nouts++
        } else if (word[i] == "ONCE")
            once[name] = 1
        else if (split(word[i], part, "=") != 2)
            fail(name ": " word[i] " is not a word of TAPE")
        else if (part[1] == "vars")
            list = "," part[2] ","
        else if (part[1] == "as_is")
            as_is = "," part[2] ","
        else if (part[1] == "float32")
            full = "," part[2] ","
        else if (part[1] == "same")
            same = "," part[2] ","
        else if (part[1] == "backward")
            backward = part[2]
        else
            source[part[1]] = part[2]
    own = backward == "OWN"
    backs(name)
    variables(list)
    if (want == "table")
        table_op(name)
    else if (want == "header")
        header_op(name)
    names[nops++] = name
}

# The calls that make gradients.
function backs(name,    b) {
    if (own)
        return
    if (backward != "")
        back[nbacks++] = backward
    else {
        if ((name "_backward") in takes)
            back[nbacks++] = name "_backward"
        if ((name "_backward_data") in takes)
            back[nbacks++] = name "_backward_data"
        if ((name "_backward_weight") in takes)
            back[nbacks++] = name "_backward_weight"
    }
    if (nbacks == 0)
        fail(name " has no backward: say OWN")
}

# Field f of a backward as "grad RESULT", "into VAR", or what else it is.
function meaning(f,    g) {
    g = f in source ? source[f] : f
    if (g ~ /^d./ && (kind[type, substr(g, 2)] == "tensor"))
        return (substr(g, 2) in rule ? "grad " : "into ") substr(g, 2)
    if (g in rule)
        return "out " g
    return "same " g
}

# The operands that receive gradients: a backward names them, or the list does.
function variables(list,    n, i, k, f, part) {
    split("", variable)
    split("", drawn)
    for (k = 0; k < nbacks; k++) {
        n = split(fields[args_of(back[k])], part, " ")
        for (i = 1; i <= n; i++) {
            f = meaning(part[i])
            if (f ~ /^into /)
                list = list "," substr(f, 6) ","
            if (f ~ /^grad /)
                drawn[substr(f, 6)] = 1
        }
    }
    if (own)
        drawn[outs[0]] = 1
    n = split(fields[type], part, " ")
    for (i = 1; i <= n; i++)
        if (index(list, "," part[i] ",")) {
            variable[part[i]] = nvars
            vars[nvars++] = part[i]
        }
}

# ---- the table ----

# How autocast treats an operand. f: its name between commas.
function cast_of(f) {
    return index(as_is, f) ? "CAST_NONE" : \
        index(full, f) ? "CAST_FLOAT32" : \
        index(same, f) ? "CAST_SAME" : "CAST_POLICY"
}

function slot(t, f, role, index_, from, bytes) {
    printf "    {\"%s\", %s, %d, %d, %s, offsetof(%s, %s), %s, %s},\n", f, \
        role, index_, ((t, f) in optional), \
        cast_of("," f ","), t, f, from, bytes
}

function call_of(name) {
    if (name in called)
        return
    called[name] = 1
    printf "static ssq_status call_%s(ssq_queue *q, const void *args)\n{\n", \
        name
    printf "    return ssq_%s(q, args);\n}\n", name
    t = args_of(name)
    if (!(t in initial)) {
        initial[t] = 1
        printf "static const %s init_%s = SSQ_%s_INIT;\n", t, t, upper(t)
    }
}

function table_op(name,    i, n, k, part) {
    call_of(name)
    printf "static const struct tape_slot slots_%s[] = {\n", name
    n = split(fields[type], part, " ")
    for (i = 1; i <= n; i++)
        if (part[i] in variable)
            slot(type, part[i], "SLOT_VAR", variable[part[i]], 0, 0)
        else if (part[i] in rule)
            slot(type, part[i], part[i] in drawn ? "SLOT_RESULT" : \
                "SLOT_KEPT", place[part[i]], 0, 0)
        else if (kind[type, part[i]] == "tensor")
            slot(type, part[i], backward == name && \
                meaning(part[i]) !~ /^same/ ? "SLOT_NONE" : "SLOT_TENSOR", \
                0, 0, 0)
    print "};"
    for (k = 0; k < nbacks; k++)
        table_back(name, back[k])
    if (nbacks > 0) {
        printf "static const struct back backs_%s[] = {\n", name
        for (k = 0; k < nbacks; k++)
            printf "    {\"%s\", call_%s, &init_%s, sizeof(%s), " \
                "slots_%s_by_%s,\n     ITEMS(slots_%s_by_%s)},\n", back[k], \
                back[k], args_of(back[k]), args_of(back[k]), name, back[k], \
                name, back[k]
        print "};"
    }
    printf "_Static_assert(sizeof(%s) <= TAPE_ARGS, \"room in a call\");\n", \
        type
    printf "static const struct tape_op op_%s = {\n    \"%s\", %d, call_%s, " \
        "&init_%s, sizeof(%s), slots_%s, ITEMS(slots_%s),\n    %d, %d, {%s}," \
        " %s, %d, %s, %s, %s, %s, %s};\n", \
        name, name, nops, name, type, type, name, name, \
        nvars, nouts, rules(), (nbacks ? "backs_" name : "NULL"), nbacks, \
        (own ? "own_" name : "NULL") ", NULL", at("activation"), \
        at("reduction"), at("ndim"), \
        (at("activation") == "0" ? "NULL" : "activations")
    table_function(name)
}

# The public function.
function table_function(name,    i, s, r) {
    header_op(name)
    printf "ssq_var ssq_%s_var_at(%s)\n{\n", name, protos[name]
    for (i = 0; i < nvars; i++)
        s = s (i ? ", " : "") vars[i]
    printf "    const ssq_var all[] = {%s};\n", s
    r = "NULL"
    if (nouts > 1) {
        for (i = 0; i < nouts; i++)
            r = (i ? r ", " : "") (i && outs[i] in drawn ? outs[i] : "NULL")
        printf "    ssq_var *const more[] = {%s};\n", r
        r = "more"
    }
    printf "    return tape_call(where, &op_%s, all, %s, %s);\n}\n", name, \
        (options_of() ? "options" : "NULL"), r
}

# Where a field is that the tape looks at itself; 0: there is none. An
# activation that a backward takes, too, is not one of these.
function at(f,    k) {
    for (k = 0; k < nbacks && f == "activation"; k++)
        if ((args_of(back[k]), f) in kind)
            return "0"
    return (type, f) in kind ? "offsetof(" type ", " f ")" : "0"
}

function rules(    i, s) {
    for (i = 0; i < nouts; i++)
        s = s (i ? ", " : "") "rule_" rule[outs[i]]
    return s
}

function table_back(name, b,    t, n, part, i, m, f) {
    call_of(b)
    t = args_of(b)
    printf "static const struct tape_slot slots_%s_by_%s[] = {\n", name, b
    n = split(fields[t], part, " ")
    for (i = 1; i <= n; i++) {
        f = part[i]
        m = meaning(f)
        split(m, word, " ")
        if (kind[t, f] != "tensor") {
            if ((type, word[2]) in kind)
                slot(t, f, "BACK_COPY", 0, "offsetof(" type ", " word[2] ")", \
                    "sizeof(((" t " *)0)->" f ")")
        } else if (word[1] == "grad")
            slot(t, f, "BACK_GRAD", place[word[2]], 0, 0)
        else if (word[1] == "into")
            slot(t, f, "BACK_INTO", variable[word[2]], 0, 0)
        else if (word[1] == "out" && b != name)
            slot(t, f, "BACK_OUT", place[word[2]], 0, 0)
        else if (word[1] == "out")
            continue # the loss itself, which is known
        else if (word[2] in variable)
            slot(t, f, "BACK_VAR", variable[word[2]], 0, 0)
        else if ((type, word[2]) in kind)
            slot(t, f, "BACK_COPY", 0, "offsetof(" type ", " word[2] ")", \
                "sizeof(const ssq_tensor *)")
        else
            fail(b ": where " f " comes from is not known")
    }
    print "};"
}

function table_end(    i) {
    print "const struct tape_op *const tape_ops[] = {"
    for (i = 0; i < nops; i++)
        print "    &op_" names[i] ","
    print "    NULL};"
}

# ---- second derivatives ----

function second_end(    i) {
    print "/* second_rules.h - generated by vars.awk from lib/core/module/ops.h:"
    print " * all ops of tapes that have a second derivative. */"
    print "#define SECOND_RULES_OF_OPS(X) \\"
    for (i = 0; i < nops; i++)
        if (!(names[i] in once))
            print "    X(" names[i] ") \\"
    print "    /* the end of the list */"
}

# ---- the header ----

function header_op(name,    i, s) {
    s = "const char *where"
    for (i = 0; i < nvars; i++)
        s = s ", ssq_var " vars[i]
    for (i = 1; i < nouts; i++)
        if (outs[i] in drawn)
            s = s ", ssq_var *" outs[i]
    if (options_of())
        s = s ", const " takes[name] " *options"
    protos[name] = s
    may_lack[name] = optional_vars()
}

# The vars that may be SSQ_VAR_NONE: " x is optional.", or nothing.
function optional_vars(    i, n, list) {
    for (i = nvars - 1; i >= 0; i--)
        if ((type, vars[i]) in optional)
            list = vars[i] (n++ == 0 ? "" : n == 2 ? " and " : ", ") list
    return n == 0 ? "" : " " list (n == 1 ? " is" : " are") " optional."
}

# Has it members other than vars and results?
function options_of(    n, i, part) {
    n = split(fields[type], part, " ")
    for (i = 1; i <= n; i++)
        if (!(part[i] in variable) && !(part[i] in rule))
            return 1
    return 0
}

# A prototype, broken behind commas before 80 columns.
function folded(s,    n, part, i, line) {
    n = split(s, part, ", ")
    line = part[1]
    for (i = 2; i <= n; i++)
        if (length(line ", " part[i]) > 79) {
            print line ","
            line = "    " part[i]
        } else
            line = line ", " part[i]
    print line
}

# A comment, broken at spaces before 80 columns.
function filled(s,    n, part, i, line) {
    n = split(s, part, " ")
    line = part[1]
    for (i = 2; i <= n; i++)
        if (length(line " " part[i]) > 80) {
            print line
            line = " *  " part[i]
        } else
            line = line " " part[i]
    print line
}

function header_end(    i, line) {
    while ((getline line <(top "/lib/tape/vars_head.txt")) > 0)
        print line
    for (i = 0; i < nops; i++) {
        filled("/** ssq_" names[i] " of vars: see " home[names[i]] \
            ". Its class is " class[names[i]] "." may_lack[names[i]] " */")
        folded("SSQ_API ssq_var ssq_" names[i] "_var_at(" protos[names[i]] \
            ");")
        print "#define ssq_" names[i] "_var(...) \\"
        print "    ssq_" names[i] "_var_at(SSQ_AT, __VA_ARGS__)"
    }
    print "\n#ifdef __cplusplus\n}\n#endif\n\n#endif"
}
