# SPDX-License-Identifier: Apache-2.0
# intel.awk - ocloc's descriptions of kernels as rows, which vulkan.awk describes.
#
# usage: awk -v target=TARGET -f intel.awk \
#            TEXT.list TEXT.sections TEXT.info TEXT.log ...
#
# The entries of a batch are NAME_vN, N counted from 1 in the text's list.
# Occupancy is how many items the threads of a vector engine have.

function number(hex,    i, n) {
    for (i = 1; i <= length(hex); i++)
        n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n
}

function row(    n) {
    if (entry == "")
        return
    n = entry
    sub(/.*_v/, "", n)
    print target, variant[n], said["grf_count"],
        said["eu_thread_count"] * said["simd_size"], said["spill_size"] + 0,
        "-", said["private_size"] / said["simd_size"], said["slm_size"] + 0,
        entry in size ? size[entry] : "-"
    entry = ""
}

BEGIN { OFS = "\t" }
FNR == 1 {
    row()
    kernels = 0
}
FILENAME ~ /\.list$/ {
    if (FNR == 1)
        split("", size)
    sub(/^[^ ]*\//, "")
    sub(/\.k/, "")
    variant[FNR] = $0
    next
}
FILENAME ~ /\.sections$/ {
    sub(/^ *\[ *[0-9]+\] /, "")
    if (sub(/^\.text\./, ""))
        size[$1] = number($5)
    next
}
FILENAME ~ /\.log$/ {
    if (NF > 0) {
        text = FILENAME
        gsub(/.*\/|\.log$/, "", text)
        print target, text, "error", $0
    }
    next
}
/^[a-z_]+:/ { # another part of the description
    row()
    kernels = /^kernels:/
}
kernels && /^  - name: / {
    row()
    split("", said)
    entry = $3
}
kernels && /^ +[a-z_]+: +[0-9]+$/ {
    sub(/:$/, "", $1)
    if (!($1 in said))
        said[$1] = $2
}
END { row() }
