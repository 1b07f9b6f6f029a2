# SPDX-License-Identifier: Apache-2.0
# amdgpu.awk - clang's remarks as rows, which vulkan.awk describes.
#
# usage: awk -v target=TARGET -f amdgpu.awk TEXT.list TEXT.symbols TEXT.log ...
#
# The entries of a batch are NAME_vN, N counted from 1 in the text's list.

function row(    n) {
    if (entry == "")
        return
    n = entry
    sub(/.*_v/, "", n)
    print target, variant[n], said["VGPRs"] + said["AGPRs"],
        said["Occupancy [waves/SIMD]"], said["VGPRs Spill"],
        said["SGPRs Spill"], said["ScratchSize [bytes/lane]"],
        said["LDS Size [bytes/block]"],
        entry in size ? size[entry] : "-"
    entry = ""
}

BEGIN { OFS = "\t" }
FNR == 1 { row() }
FILENAME ~ /\.list$/ {
    if (FNR == 1)
        split("", size)
    sub(/^[^ ]*\//, "")
    sub(/\.k/, "")
    variant[FNR] = $0
    next
}
FILENAME ~ /\.symbols$/ {
    if ($4 == "FUNC")
        size[$8] = $3
    next
}
/ remark: +Function Name: / {
    row()
    split("", said)
    entry = $0
    sub(/.*Function Name: /, "", entry)
    sub(/ .*/, "", entry)
    next
}
match($0, / remark: +[A-Z][^:]*: /) {
    name = substr($0, RSTART, RLENGTH)
    sub(/ remark: +/, "", name)
    sub(/: $/, "", name)
    said[name] = substr($0, RSTART + RLENGTH) + 0
    next
}
/(warning|error): / {
    text = FILENAME
    gsub(/.*\/|\.log$/, "", text)
    print target, text, "error", $0
}
END { row() }
