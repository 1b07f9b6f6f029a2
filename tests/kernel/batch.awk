# SPDX-License-Identifier: Apache-2.0
# batch.awk - all variants of one kernel text as one source: each includes the
# text again, under its own names. For languages with functions.
#
# Input: the text's lines of `embed.sh list`. -v text=PATH -v top=SRCDIR. Names
# that a text defines itself are renamed or undefined between two variants, and
# so is what a header defines that looks at keys; other headers are read once.

# The definitions of file, into rename and drop.
function collect(file,    line, name) {
    while ((getline line <(top "/" file)) > 0)
        if (match(line, /^KERNEL\([a-z0-9_]+\)/) ||
            match(line, /^struct [a-z0-9_]+ \{$/)) {
            name = substr(line, RSTART, RLENGTH)
            gsub(/^[A-Z]+\(|\)$|^struct | \{$/, "", name)
            rename[name] = 1
        } else if (line ~ /^FN/) {
            # the name may be on the next line
            if (!match(line, /[a-z][a-z0-9_]*\(/)) {
                getline line <(top "/" file)
                match(line, /[a-z][a-z0-9_]*\(/)
            }
            name = substr(line, RSTART, RLENGTH - 1)
            rename[name] = 1
        } else if (line ~ /^ *# *define /) {
            name = line
            sub(/^ *# *define /, "", name)
            sub(/[^A-Za-z0-9_].*/, "", name)
            drop[name] = 1
        }
    close(top "/" file)
}

# The headers of a file that look at keys, and theirs.
function visit(file,    line, name, looks) {
    if (file in seen)
        return
    seen[file] = 1
    while ((getline line <(top "/" file)) > 0) {
        if (line ~ /^#include "kernels\//) {
            name = line
            gsub(/^#include "|".*$/, "", name)
            visit(name)
        }
        # where ONE_VARIANT is asked for, these are not meant
        if (line ~ /^ *# *(el)?if/ && line !~ /ONE_VARIANT/)
            for (name in key)
                looks = looks || line ~ "(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)"
    }
    close(top "/" file)
    if (looks || file == text)
        collect(file)
}

NR == 1 {
    for (i = 2; i <= NF; i++) {
        split($i, pair, "=")
        key[pair[1]] = 1
    }
    visit(text)
}

{
    n++
    for (i = 2; i <= NF; i++) {
        split($i, pair, "=")
        print "#define " pair[1] " " pair[2]
    }
    for (name in rename)
        print "#define " name " " name "_v" n
    print "#include \"" text "\""
    for (i = 2; i <= NF; i++) {
        split($i, pair, "=")
        print "#undef " pair[1]
    }
    for (name in rename)
        print "#undef " name
    for (name in drop)
        print "#undef " name
}
