# SPDX-License-Identifier: Apache-2.0
# faults.awk - what rows break the rules; and the figures of each target.
#
# usage: awk -v processors='gemm_pack ...' -v figures=FILE -f faults.awk \
#            exceptions.txt ROWS...
#
# ROWS are of vulkan.awk, amdgpu.awk and intel.awk. It prints a line for each
# fault, the first two words of which are the target, or "exceptions", and the
# measure:
#
#     radv:navi31 scratch gemm_tiled SIDE=8: 260, at most 0
#     exceptions unused LINE
#
# FILE gets a line for each target, with tabs: the target, its kernels, how many
# of them break a rule, exceptions included, most registers, least occupancy,
# most bytes of local memory, the bytes of all code, most bytes of code, and the
# kernel that has them. Kernels for processors alone are compiled, and no more.

BEGIN {
    OFS = "\t"
    # the columns of a row from the fifth on, and the rules
    measures = split("spill scalar scratch local code", measure, " ")
    n = split(processors, list, " ")
    for (i = 1; i <= n; i++)
        processor[list[i]] = 1
}

# A pattern as a regular expression: "*" matches any text.
function glob(pattern) {
    gsub(/[.]/, "[.]", pattern)
    gsub(/[*]/, ".*", pattern)
    return "^" pattern "$"
}

# The rule for measure m: local memory that every Vulkan device has, and code
# that fits into an instruction cache of AMD, or twice as much for GPUs with
# instructions of 16 bytes.
function limit(m) {
    if (m == "local")
        return 16384
    if (m == "code")
        return $1 ~ /^(ocloc|nvk):/ ? 65536 : 32768
    return 0
}

# The bound of measure m for this variant, by the rule and the exceptions.
function most(m,    i, bound) {
    bound = limit(m)
    for (i = 1; i <= exceptions; i++)
        if (of[i] == m && $1 ~ target[i] && $2 ~ variant[i]) {
            seen[i] = 1
            if (bound < allowed[i])
                bound = allowed[i]
        }
    return bound
}

FNR == 1 { file++ }
file == 1 {
    if (/^#/ || NF == 0)
        next
    split($0, part, / *[|] */)
    split(part[3], what, " ")
    line[++exceptions] = $0
    target[exceptions] = glob(part[1])
    variant[exceptions] = glob(part[2])
    of[exceptions] = what[1]
    allowed[exceptions] = what[2]
    next
}
FNR == 1 { FS = "\t"; $0 = $0 }
!($1 in kernels) {
    kernels[$1] = 0
    order[++targets] = $1
}
$3 == "error" {
    print $1 " error " $2 ": " $4
    next
}
{
    kernels[$1]++
    name = $2
    sub(/ .*/, "", name)
    if (name in processor)
        next
    if ($3 > registers[$1])
        registers[$1] = $3
    if (!($1 in occupancy) || $4 < occupancy[$1])
        occupancy[$1] = $4
    if ($8 != "-" && $8 >= local[$1])
        local[$1] = $8
    total[$1] += $9
    if ($9 > largest[$1]) {
        largest[$1] = $9
        large[$1] = $2
    }
    bad = 0
    for (i = 1; i <= measures; i++) {
        m = measure[i]
        x = $(i + 4)
        if (x == "-" || x + 0 <= limit(m))
            continue
        bad = 1
        if (x > most(m))
            print $1 " " m " " $2 ": " x ", at most " most(m)
    }
    faulty[$1] += bad
}
END {
    for (i = 1; i <= exceptions; i++)
        if (!(i in seen))
            for (t = 1; t <= targets; t++)
                if (order[t] ~ target[i]) {
                    print "exceptions unused " line[i]
                    break
                }
    for (t = 1; t <= targets; t++) {
        name = order[t]
        print name, kernels[name], faulty[name] + 0, registers[name],
            occupancy[name], name in local ? local[name] : "-",
            total[name], largest[name], large[name] >figures
    }
}
