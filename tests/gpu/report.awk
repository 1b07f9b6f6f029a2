# SPDX-License-Identifier: Apache-2.0
# report.awk - tables in Markdown from the lines of bench and peer.py.
#
# usage: awk -v files='cuda:0=a.tsv torch=b.tsv' -v part=PART -f report.awk
#
# Each file's lines are a device's; the lines of "torch" are the peer's. PART is
# "targets", a line for each target with the worst that was measured and what it
# is measured against in the same run; or "workloads", the table of all of them.
#
# A column for each device and implementation: TFLOP/s where a workload has
# flops, else GB/s and its share of the device's own copy, then the ratio to
# PyTorch. "-" is what could not run there.

function add(device, file,    line, f, n, key) {
    while ((getline line < file) > 0) {
        n = split(line, f, "\t")
        if (n < 5)
            continue
        if (f[1] ~ /^host waits/) {
            waits[device, f[2]] = f[3]
            continue
        }
        if (!(f[1] in flops)) {
            names[++count] = f[1]
            flops[f[1]] = f[4]
            bytes[f[1]] = f[5]
        }
        key = device == "torch" ? "torch" (f[2] == "torch" ? "" : " " f[2]) \
                                : device " " f[2]
        if (!(key in known)) {
            known[key] = device
            columns[++width] = key
        }
        seconds[f[1], key] = f[3]
        if (f[1] == "copy" && f[3] != "-")
            copied[device] = f[5] / f[3]
        if (f[3] == "-")
            reasons[++failed] = key ": " f[1] ": " f[6]
    }
    close(file)
}

# The speed of a device in a workload, or "".
function cell(name, key,    s, rate, text) {
    s = seconds[name, key]
    if (s == "" || s == "-")
        return s
    if (flops[name] > 0) {
        text = sprintf("%.1f TFLOP/s", flops[name] / s / 1e12)
    } else {
        rate = bytes[name] / s
        text = sprintf("%.0f GB/s", rate / 1e9)
        if (known[key] in copied)
            text = text sprintf(", %.0f %%", 100 * rate / copied[known[key]])
    }
    if (key !~ /^torch/ && seconds[name, "torch"] > 0)
        text = text sprintf(", %.2fx", seconds[name, "torch"] / s)
    return text
}

# Compare a share with the target, and keep the worst.
function consider(share, wanted, where) {
    seen++
    good += share >= wanted
    if (seen == 1 || share < worst) {
        worst = share
        at = where
    }
}

# How fast the columns of a kind of device and implementation are beside torch,
# over all workloads whose names match.
function beside(kind, impl, match_name, wanted,    i, k, key, s, t) {
    for (i = 1; i <= width; i++) {
        key = columns[i]
        if (known[key] !~ "^" kind ":" || key !~ " " impl "$")
            continue
        for (k = 1; k <= count; k++) {
            s = seconds[names[k], key]
            t = seconds[names[k], "torch"]
            if (names[k] ~ match_name && s > 0 && t > 0)
                consider(t / s, wanted, key ": " names[k])
        }
    }
}

# Shares of the best copy of the run, ours or the peer's.
function memory_bound(wanted,    i, k, key, best) {
    for (i = 1; i <= width; i++) {
        key = columns[i]
        if (known[key] !~ /^cuda:/ || key !~ / chosen$/)
            continue
        best = copied[known[key]]
        if (copied["torch"] > best)
            best = copied["torch"]
        for (k = 1; k <= count; k++)
            if (names[k] ~ /^(softmax|layer norm|cross-entropy)/ &&
                seconds[names[k], key] > 0 && best > 0)
                consider(bytes[names[k]] / seconds[names[k], key] / best,
                         wanted, key ": " names[k])
    }
}

function verdict(name, limit, wanted) {
    if (seen == 0)
        printf "| %s | | %s | %.2f | not measured |\n", name, limit, wanted
    else
        printf "| %s | %.2f (%s) | %s | %.2f | %s: %d of %d |\n", name, worst,
            at, limit, wanted, good == seen ? "reached" : "missed", good, seen
    seen = good = 0
}

function targets(    key, part_of, n, w) {
    print "| target | worst measured | against | wanted | verdict |"
    print "|---|---|---|---|---|"
    beside("cuda", "chosen", "^gemm ", 0.98)
    verdict("products", "torch.matmul", 0.98)
    beside("cuda", "mma", "^gemm ", 0.70)
    verdict("products by `mma`", "torch.matmul", 0.70)
    beside("vulkan", "coopmat", "^gemm ", 0.60)
    verdict("products by Vulkan's `coopmat`", "torch.matmul", 0.60)
    memory_bound(0.90)
    verdict("what is bound by memory", "the faster copy of the run", 0.90)
    beside("cuda", "chosen", "^adamw", 1.3)
    verdict("optimizer and scaler", "torch's fused path", 1.3)
    beside("cuda", "captured", "^step of", 1.2)
    verdict("a training step", "torch, eager", 1.2)
    for (key in waits) {
        split(key, part_of, SUBSEP)
        if (part_of[1] ~ /^cuda:/) {
            n++
            w += waits[key] == "-" ? 1 : waits[key]
        }
    }
    if (n == 0)
        print "| waits of the host in a step | | none | 0 | not measured |"
    else
        printf "| waits of the host in a step | %d | none | 0 | %s |\n", w,
            w == 0 ? "reached" : "missed"
}

BEGIN {
    n = split(files, pair, " ")
    for (i = 1; i <= n; i++) {
        at = index(pair[i], "=")
        add(substr(pair[i], 1, at - 1), substr(pair[i], at + 1))
    }
    if (part == "targets") {
        targets()
        exit
    }
    printf "| workload |"
    for (i = 1; i <= width; i++)
        printf " %s |", columns[i]
    printf "\n|---|"
    for (i = 1; i <= width; i++)
        printf "---|"
    printf "\n"
    for (k = 1; k <= count; k++) {
        printf "| %s |", names[k]
        for (i = 1; i <= width; i++)
            printf " %s |", cell(names[k], columns[i])
        printf "\n"
    }
    if (failed > 0) {
        printf "\nNot run:\n\n"
        for (k = 1; k <= failed; k++)
            printf "- %s\n", reasons[k]
    }
}
