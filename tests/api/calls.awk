# SPDX-License-Identifier: Apache-2.0
# calls.awk - from what tests/lint/declarations.awk found, tables in C: every
# op with its arguments, and every function called with nothing but zeros.

$1 == "struct" && $2 ~ /_args$/ {
    line = ""
    for (i = 3; i <= NF; i++)
        if ($i ~ /:tensor$/) {
            sub(/:tensor/, "", $i)
            line = line "{\"" $i "\", offsetof(" $2 ", " $i ")}, "
        }
    members[$2] = line
}
$1 == "alias" { real[$2] = $3 }
$1 == "function" {
    name = substr($2, 5)
    zeros = ""
    for (i = 1; i <= $3; i++)
        zeros = zeros (i > 1 ? ", " : "") \
            ($(4 + i) == "ssq_var" ? "SSQ_VAR_NONE" : "0")
    print "static ssq_status zeros_" name "(void)\n{"
    if ($4 == "ssq_status")
        print "    return " $2 "(" zeros ");"
    else
        print "    (void)" $2 "(" zeros ");\n    return SSQ_ERR_INVALID;"
    print "}"
    all = all "    {\"" name "\", zeros_" name ", " \
        ($4 == "ssq_status" ? "true" : "false") "},\n"
    if ($3 == 2 && $5 == "ssq_queue*" && $6 ~ /^constssq_.*_args\*$/) {
        type = substr($6, 6, length($6) - 6)
        if (type in real)
            type = real[type]
        used[type] = 1
        print "static ssq_status call_" name "(ssq_queue *queue, const void *a)"
        print "{\n    return " $2 "(queue, a);\n}"
        ops = ops "    {\"" name "\", call_" name ", sizeof(" type "), " \
            "&init_" type ", members_" type "},\n"
    }
}
END {
    for (type in used) {
        init = toupper(type)
        sub(/_ARGS$/, "_INIT", init)
        print "static const " type " init_" type " = " init ";"
        print "static const struct contract_member members_" type "[] = {" \
            members[type] "{NULL, 0}};"
    }
    print "static const struct contract_call calls[] = {\n" ops "};"
    print "static const struct contract_function functions[] = {\n" all "};"
}
