# SPDX-License-Identifier: Apache-2.0
# vulkan.awk - the lines of pipelines.c as rows. -v target=TARGET.
#
# A row has fields with tabs between them. "-" is a figure that the driver does not report.
#
#     TARGET VARIANT REGISTERS OCCUPANCY SPILLED SCALAR SCRATCH LOCAL CODE
#     TARGET VARIANT error TEXT

BEGIN { FS = OFS = "\t" }

# The first figure that the driver reports, of names with commas between them.
function value(names,    list, n, i) {
    n = split(names, list, ",")
    for (i = 1; i <= n; i++)
        if (list[i] in said)
            return said[list[i]]
    return "-"
}

# The sum of the named figures.
function sum(names,    list, n, i, total) {
    n = split(names, list, ",")
    total = "-"
    for (i = 1; i <= n; i++)
        if (list[i] in said)
            total += said[list[i]]
    return total
}

# The module makes a pipeline of matrices again to compare its spills.
$1 == "made" && !($2 in seen) {
    seen[$2] = 1
    split("", said)
    for (i = 3; i <= NF; i++) {
        at = index($i, "=")
        said[substr($i, 1, at - 1)] = substr($i, at + 1)
    }
    scratch = value("Scratch size,Scratch,SLM size")
    code = value("Code size,Code Size")
    if (target ~ /^radv:/) # of all items of a subgroup
        scratch /= said["Subgroup"]
    if (target ~ /^nvk:/) # every kernel has 16 bytes
        scratch -= 16
    if (target ~ /^turnip:/) { # it counts words, and accesses to scratch
        code *= 4
        scratch = sum("STP Count,LDP Count")
    }
    print target, $2, value("VGPRs,Number of GPRs,GPRs,Registers used"),
        value("Subgroups per SIMD,Max warps/SM,Threads,Max Waves Per Core"),
        sum("Spilled VGPRs,Spills,Fills,Spills to memory,Fills from memory"),
        sum("Spilled SGPRs,Spills to reg"), scratch, value("LDS size"), code
}
$1 == "error" { print target, $2, "error", $3 }
$1 == "done" { ended = 1 }
END {
    if (!ended)
        print target, "all", "error", "it did not end"
}
