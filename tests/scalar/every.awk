# SPDX-License-Identifier: Apache-2.0
# every.awk - from the headers of kernels/scalar/scalar.h, a kernel in the dialect that
# calls every function in them: y[i] = the pc.which-th of them, of x[i], x[i+1]...
# With -v public=1 only the functions with any argument: the others' NaNs may
# differ. So may those of s_quotient and s_root, which do not define which NaN
# they give, and of one_minus_pow, which is for numbers from 0 to 1: theirs are made
# canonical there, and all other bits must be equal.

function call(kind, name, args, n, i, part, text, word)
{
    text = name "("
    n = split(args, part, ",")
    for (i = 1; i <= n; i++) {
        word = "x[i + " (i - 1) "u]"
        if (part[i] ~ /^ *float_pair /)
            word = "pair_of(AS_F32(" word "), AS_F32(x[i + " (i + 3) "u]))"
        if (part[i] ~ /^ *exp_parts /)
            word = "exp_split(pair_of(AS_F32(" word "), 0.0f))"
        if (part[i] ~ /^ *bool /)
            word = word " != 0u"
        if (part[i] ~ /^ *float /)
            word = "AS_F32(" word ")"
        text = text (i > 1 ? ", " : "") word
    }
    text = text ")"
    if (public && name ~ /^(s_quotient|s_root|one_minus_pow)$/)
        text = "s_canonical(" text ")"
    if (kind == "exp_parts")
        text = "exp_value(" text ")"
    if (kind == "sigmoid_parts")
        text = text ".q"
    if (kind ~ /^(float_pair|sigmoid_parts)$/)
        text = "pair_sum(" text ")"
    if (kind !~ /^(u32|bool)$/)
        text = "AS_U32(" text ")"
    if (kind == "bool")
        text = "U32(" text " ? 1u : 0u)"
    printf "        if (pc.which == %du)\n", calls++
    printf "            y[i] = %s;\n", text
}

# STRUCT(x) as x
function without_struct(text)
{
    while (match(text, /STRUCT\([a-z_]+\)/))
        text = substr(text, 1, RSTART - 1) \
            substr(text, RSTART + 7, RLENGTH - 8) substr(text, RSTART + RLENGTH)
    return text
}

BEGIN {
    print "#include \"kernels/scalar/scalar.h\""
    print "struct every_args { u32 n; u32 which; };"
    print "KERNEL(every)"
    print "    BUF_RO(0, u32, x) SEP"
    print "    BUF_RW(1, u32, y) SEP"
    print "    PARAMS(every_args)"
    print "ENDARGS"
    print "    SHARED(u32, pad, WG)"
    print "BODY"
    print "    pad[LOCAL_ID] = GROUP_ID;"
    print "    BARRIER();"
    print "    for (u32 i = GLOBAL_ID; i < pc.n; i += GLOBAL_SIZE) {"
}

/^FN / { text = ""; open = 1 }
open {
    text = text " " $0
    text = without_struct(text)
}
open && text ~ /\)/ {
    open = 0
    sub(/^ *FN /, "", text)
    sub(/\).*/, "", text)
    kind = text
    sub(/ .*/, "", kind)
    sub(/^[a-z0-9_]+ */, "", text)
    name = text
    sub(/\(.*/, "", name)
    sub(/^[^(]*\(/, "", text)
    if (!public || name ~ /^(s_|f16_|bf16_|random_|u32_|is_)/ ||
        name ~ /^(one_minus_pow|div_corrected|sqrt_corrected)$/)
        call(kind, name, text)
}

END {
    print "        y[i] ^= pad[0] & 0u;"
    print "    }"
    print "END"
    printf "#define FUNCTIONS %du\n", calls
}
