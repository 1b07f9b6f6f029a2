# SPDX-License-Identifier: Apache-2.0
# hpp.awk - the ops that <sesqui/sesqui.hpp> lists, of the headers of the ops:
# each function that takes a queue and its arguments.
#
# usage: awk -f hpp.awk include/sesqui/ops/*.h
#
# ssq_mse(ssq_queue *queue, const ssq_mse_args *args) is SESQUI_OP(mse,
# ssq_mse_args).

FNR == 1 { call = "" }
/^SSQ_API SSQ_MUST_CHECK/ { call = " " }
call != "" { call = call " " $0 }
call != "" && /;/ {
    gsub(/ +/, " ", call)
    if (match(call, /ssq_[a-z0-9_]+\( ?ssq_queue \*queue, const ssq_[a-z0-9_]+_args \*args\);/)) {
        text = substr(call, RSTART, RLENGTH)
        name = text
        sub(/\(.*/, "", name)
        type = text
        sub(/.*const /, "", type)
        sub(/ \*args.*/, "", type)
        line = "SESQUI_OP(" substr(name, 5) ", " type ")"
        if (length(line) > 80)
            sub(/, /, ",\n          ", line)
        print line
    }
    call = ""
}
