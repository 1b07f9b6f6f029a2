# SPDX-License-Identifier: Apache-2.0
# vars.awk - from the header of ops over vars, a table in C: every op with the
# names of its operands, how many results it has beside the first, and whether
# it takes options.
#
# Input: include/sesqui/vars.h.

/^SSQ_API ssq_var / { call = "" ; inside = 1 }
inside { call = call " " $0 }
inside && /;/ { inside = 0; prototype(call) }
END {
    print "static const struct fuzz_var table[] = {\n" rows "};"
    exit count == 0
}

function prototype(s,    name, n, i, part, args, vars, operands, more, options) {
    gsub(/[ \t]+/, " ", s)
    name = s
    sub(/.*ssq_var ssq_/, "", name)
    sub(/_var_at\(.*/, "", name)
    sub(/[^(]*\(/, "", s)
    sub(/\);.*/, "", s)
    n = split(s, part, ", ")
    args = "where"
    operands = more = options = 0
    vars = ""
    for (i = 2; i <= n; i++)
        if (part[i] ~ /^ssq_var \*/)
            args = args ", &more[" more++ "]"
        else if (part[i] ~ /^ssq_var /) {
            args = args ", v[" operands++ "]"
            vars = vars "\"" substr(part[i], 9) "\", "
        } else {
            args = args ", options"
            options = 1
        }
    print "static ssq_var var_" name "(const char *where, const ssq_var *v,"
    print "    ssq_var *more, const void *options)\n{"
    if (!more)
        print "    (void)more;"
    if (!options)
        print "    (void)options;"
    print "    return ssq_" name "_var_at(" args ");\n}"
    rows = rows "    {\"" name "\", var_" name ", {" vars "NULL}, " operands \
        ", " more ", " options "},\n"
    count++
}
