# SPDX-License-Identifier: Apache-2.0
# report.awk - tables in Markdown from the lines of bench and peer.py.
#
# usage: awk -f report.awk DEVICE=FILE... - : each file's lines are a device's;
# those of "torch" are the peer's. Variables, not files: so it is called as
#     awk -v files='cuda:0=a.tsv torch=b.tsv' -f report.awk
#
# A column for each device and implementation: TFLOP/s where a workload has
# flops, else GB/s and its share of the device's own copy, then the ratio to
# PyTorch. "-" is what could not run there.

function add(device, file,    line, f, n, key) {
    while ((getline line < file) > 0) {
        n = split(line, f, "\t")
        if (n < 5)
            continue
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

# What a device reaches in a workload, or "".
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

BEGIN {
    n = split(files, pair, " ")
    for (i = 1; i <= n; i++) {
        at = index(pair[i], "=")
        add(substr(pair[i], 1, at - 1), substr(pair[i], at + 1))
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
