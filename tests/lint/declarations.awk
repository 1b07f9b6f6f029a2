# SPDX-License-Identifier: Apache-2.0
# declarations.awk - what the public headers declare, one thing per line.
#
# Input: cc -E -D'__attribute__(x)=' of #include <sesqui.h>. Output:
#   struct NAME MEMBER[:tensor] ...    tensor: a const ssq_tensor *
#   enum CONSTANT VALUE
#   alias NAME STRUCT
#   function NAME PARAMETERS RESULT TYPE...    of the parameters

/^# [0-9]+ "/ { ours = $3 ~ /sesqui/; next }
ours { text = text " " $0 }

function member(s, kind,    k, n, part) {
    if (match(s, /\(\*[a-z_0-9]+\)/))
        return " " substr(s, RSTART + 2, RLENGTH - 3)
    kind = s ~ /^ *const ssq_tensor \*[a-z]/ && s !~ /\*const/ ? ":tensor" : ""
    n = split(s, part, ",")
    s = ""
    for (k = 1; k <= n; k++) {
        sub(/\[.*/, "", part[k])
        sub(/ +$/, "", part[k])
        sub(/.*[ *]/, "", part[k])
        s = s " " part[k] kind
    }
    return s
}

function body(d,    k, n, part, out) {
    sub(/^[^{]*\{/, "", d)
    sub(/\}[^}]*$/, "", d)
    n = split(d, part, ";")
    for (k = 1; k < n; k++)
        out = out member(part[k])
    return out
}

function constants(d,    k, n, part) {
    sub(/^[^{]*\{/, "", d)
    sub(/\}.*/, "", d)
    n = split(d, part, ",")
    for (k = 1; k <= n; k++)
        if (part[k] ~ /=/) {
            gsub(/ /, "", part[k])
            sub(/=/, " ", part[k])
            print "enum " part[k]
        }
}

function type(s) {
    sub(/[a-z_0-9]*$/, "", s)
    gsub(/ /, "", s)
    return s == "" ? "-" : s
}

function declared(d,    name, result, list, n, part, k) {
    if (d ~ /^typedef struct .*\{/) {
        name = d
        sub(/.* /, "", name)
        print "struct " name body(d)
    } else if (d ~ /^typedef enum /) {
        constants(d)
    } else if (d ~ /^typedef ssq_[a-z0-9_]+_args ssq_[a-z0-9_]+$/) {
        split(d, part, " ")
        print "alias " part[3] " " part[2]
    } else if (d !~ /^(typedef|static)/ && match(d, /ssq_[a-z0-9_]+ ?\(/)) {
        name = substr(d, RSTART, RLENGTH)
        result = substr(d, 1, RSTART - 1)
        list = substr(d, RSTART + RLENGTH)
        sub(/ ?\($/, "", name)
        gsub(/ /, "", result)
        sub(/\)[^)]*$/, "", list)
        n = list == "void" ? 0 : split(list, part, / ?, ?/)
        name = name " " n " " result
        for (k = 1; k <= n; k++)
            name = name " " type(part[k])
        print "function " name
    }
}

END {
    gsub(/[ \t]+/, " ", text)
    n = split(text, piece, ";")
    for (i = 1; i <= n; i++) {
        d = d == "" ? piece[i] : d ";" piece[i]
        opened = gsub(/\{/, "{", d)
        closed = gsub(/\}/, "}", d)
        if (opened > closed)
            continue
        sub(/^ */, "", d)
        sub(/ *$/, "", d)
        declared(d)
        d = ""
    }
}
