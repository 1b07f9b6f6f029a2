# SPDX-License-Identifier: Apache-2.0
# copied.awk - what PTX copies from a parameter into local memory.

/^\.(visible|entry)/ { delete from }
/ld\.param/ {
    line = $0
    sub(/\[.*/, "", line)
    while (match(line, /%[a-z]+[0-9]+/)) {
        from[substr(line, RSTART, RLENGTH)] = 1
        line = substr(line, RSTART + RLENGTH)
    }
}
/st\.local/ {
    line = $0
    sub(/.*\]/, "", line)
    while (match(line, /%[a-z]+[0-9]+/)) {
        if (substr(line, RSTART, RLENGTH) in from) {
            print
            bad = 1
        }
        line = substr(line, RSTART + RLENGTH)
    }
}
END { exit bad }
