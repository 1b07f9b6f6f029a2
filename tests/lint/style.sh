#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# style.sh - what a machine can check of how code looks here.

. "${srcdir:-.}/tests/lint/tap.sh"

cd "$srcdir" || exit 1
dirs='include lib kernels backends comms conformance tools examples tests doc'
find $dirs -type f \( -name '*.[chk]' -o -name '*.comp' -o -name '*.cc' \) \
    ! -path '*/.*' ! -path 'kernels/prebuilt_*.h' | LC_ALL=C sort >"$tmp/code"
find $dirs m4 configure.ac Makefile.am build-aux/tally build-aux/progress \
    quickstart .ci/run \
    -type f \( -name '*.[chk]' -o -name '*.comp' -o -name '*.cc' \
    -o -name '*.sh' -o -name '*.mk' -o -name '*.am' -o -name '*.ac' \
    -o -path 'm4/sesqui.m4' -o -name 'backend.m4' -o -name '*.in' \
    -o -name '*.map' -o -name tally -o -name progress -o -name quickstart -o -name run \) \
    ! -path '*/.libs/*' ! -path '*/.deps/*' ! -path 'kernels/prebuilt_*.h' |
    LC_ALL=C sort >"$tmp/text"
grep -E '^(lib|backends)/' "$tmp/code" >"$tmp/lib"
tap_ok "$(($(grep -c '' "$tmp/code") < 10))" \
    "there is code to look at: $(grep -c '' "$tmp/code") files"

# Code with comments and the contents of strings and characters blanked, in
# $tmp/bare/, line for line: the meaning of a word depends on its place.
sed "s|^|$tmp/bare/|; s|/[^/]*$||" "$tmp/code" | sort -u | xargs mkdir -p
xargs awk -v bare="$tmp/bare/" '
    FNR == 1 {
        close(to)
        to = bare FILENAME
        comment = 0
    }
    {
        line = quote = ""
        rest = $0
        while (rest != "") {
            if (comment) {
                k = index(rest, "*/")
                if (k == 0) break
                rest = substr(rest, k + 2)
                comment = 0
            } else if (quote != "") {
                if (!match(rest, quote == "\"" ? "[\"\\\\]" : "[\047\\\\]"))
                    break
                c = substr(rest, RSTART, 1)
                rest = substr(rest, RSTART + (c == "\\" ? 2 : 1))
                if (c == quote) { quote = ""; line = line c }
            } else if (match(rest, "/[*/]|[\"\047]")) {
                line = line substr(rest, 1, RSTART - 1)
                c = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                if (c == "//") break
                if (c == "/*") comment = 1
                else { quote = c; line = line c }
            } else {
                line = line rest
                break
            }
        }
        print line >to
    }' <"$tmp/code"

# in_code LIST PATTERN: matches in the blanked code, as file:line:text.
in_code() {
    (cd "$tmp/bare" && xargs grep -nE -- "$2" /dev/null) <"$1"
}

xargs awk '
    FNR == 1 { files[FILENAME] }
    FNR <= 2 && /SPDX-License-Identifier: Apache-2\.0/ { delete files[FILENAME] }
    END { for (f in files) print f }' <"$tmp/text" >"$tmp/out"
tap_empty 'every file begins with its SPDX line'

while read -r f; do
    sed -n '2,3p' "$f" | grep -qE "^(/\*|//) (.*/)?${f##*/} - " || echo "$f"
done <"$tmp/code" >"$tmp/out"
tap_empty 'every source says its name and what it is on its second line'

in_code "$tmp/lib" \
    '(^|[^a-z_.>])(abort|exit|_exit|_Exit|quick_exit|printf|puts|putchar|perror|vprintf) *\(' \
    >"$tmp/out"
tap_empty 'lib/ and backends/ never abort, exit or print'
in_code "$tmp/lib" '(^|[^a-z_])(fprintf|fputs|fputc|fwrite|vfprintf)[ (]|stderr|stdout' |
    grep -v '^lib/core/base/log\.c:' >"$tmp/out"
tap_empty 'only lib/core/base/log.c writes to stderr, under SSQ_VERBOSE'
in_code "$tmp/lib" '(^|[^a-z_.>])(malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign) *\(' |
    grep -v '^\(lib/core/base/mem\|backends/[a-z/]*/memory\)\.c:' >"$tmp/out"
tap_empty 'lib/ and backends/ allocate through the callbacks'
in_code "$tmp/lib" '(^|[^a-z_])(sprintf|strcpy|strcat|gets|alloca|strtok|rand|srand|setenv|system) *\(' \
    >"$tmp/out"
tap_empty 'lib/ and backends/ call no unbounded or shared-state function'
in_code "$tmp/lib" '__attribute__ *\(\( *(constructor|destructor|weak)|__int128|typeof|__builtin_' |
    grep -v '^backends/cpu/isa/[a-z/_]*\.h:' >"$tmp/out"
tap_empty 'no constructor, weak symbol or extension, but vectors of backends/cpu/isa'
in_code "$tmp/code" '__(DATE|TIME|TIMESTAMP)__|^ *# *if 0|march=native' \
    >"$tmp/out"
tap_empty 'no time of build, no #if 0, no -march=native'
xargs grep -nE '(^|[^A-Z])(TODO|FIXME|XXX|HACK)($|[^A-Z])' /dev/null <"$tmp/code" |
    grep -v '^tests/lint/' >"$tmp/out"
tap_empty 'no TODO, FIXME, XXX or HACK'

while read -r f; do
    n=$(grep -c '' "$f")
    [ "$n" -le 800 ] || echo "$f: $n lines"
done <"$tmp/code" >"$tmp/out"
tap_empty 'no source is longer than 800 lines'
xargs awk 'length($0) > 80 { print FILENAME ":" FNR ": " length($0) }' \
    <"$tmp/code" >"$tmp/out"
tap_empty 'no line of code is longer than 80 columns'
find . -name '*.mk' ! -path '*/.*' ! -path './build*' -o -path ./Makefile.am |
    while read -r f; do
        expand "$f" | awk -v f="$f" 'length($0) > 80 { print f ":" FNR }'
    done | grep -v '^\./lists\.mk:' >"$tmp/out"
tap_empty 'no line of a makefile is longer than 80 columns'
xargs awk '/[ \t\r]$/ { print FILENAME ":" FNR }' <"$tmp/text" >"$tmp/out"
tap_empty 'no line ends in blanks or a carriage return'
xargs grep -n "$(printf '\t')" /dev/null <"$tmp/code" >"$tmp/out"
tap_empty 'no tabs in code'

# A function of more than 60 lines; a table (ends in "};") may be long.
(cd "$tmp/bare" && xargs awk '
    FNR == 1 { start = 0 }
    /^{/ { start = FNR }
    /^}/ {
        if (start && FNR - start > 61)
            print FILENAME ":" start ": " FNR - start - 1 " lines"
        start = 0
    }') <"$tmp/code" | grep -v '^kernels/' >"$tmp/out"
tap_empty 'no function is longer than 60 lines'

# Which directories may include which.
in_code "$tmp/code" '^# *include' >"$tmp/includes.bare"
xargs grep -nE '^# *include *["<]' /dev/null <"$tmp/code" >"$tmp/includes"
grep -E '^include/' "$tmp/includes" |
    grep -vE '<(sesqui(/[a-z0-9_/]+)?\.h|std(def|int|bool)\.h)>' >"$tmp/out"
tap_empty 'public headers include public headers, stddef, stdint and stdbool'
grep -E '^lib/' "$tmp/includes" | grep -E '["<](backends|conformance|tools|tests|examples)/' \
    >"$tmp/out"
tap_empty 'lib/ includes nothing of backends, conformance, tools, tests or examples'
grep -E '^backends/' "$tmp/includes" |
    awk -F: '{
        split($1, mine, "/")
        if (match($3, /backends\/[a-z]+/)) {
            theirs = substr($3, RSTART + 9, RLENGTH - 9)
            # Modules share common, mma and pack; guard is the reference with
            # other checks, and cpu has the events and copies of the reference.
            if (theirs != mine[2] && theirs !~ /^(common|mma|pack)$/ &&
                !(mine[2] ~ /^(guard|cpu)$/ && theirs == "reference"))
                print
        }
        if ($3 ~ /["<](conformance|tools|tests|examples)\//)
            print
    }' >"$tmp/out"
tap_empty 'no backend includes another, but common, mma, pack; guard and cpu the reference'
grep -E '^examples/' "$tmp/includes" | grep -E '["<](lib|backends|kernels|conformance|tests)/' \
    >"$tmp/out"
tap_empty 'the examples use the public API only'

# Forms of the kernels that compilers of drivers have taken for others: a sum
# that rounds since it is large, but F32_MAGIC's, which no driver that ran is
# wrong about; a sum with 0 and a product with 1; x != x; and, in LLVM 18 and
# 19, a choice between x, or a constant, and what has been put together from
# bits.
grep -E '^kernels/' "$tmp/code" >"$tmp/kernels"
{
    in_code "$tmp/kernels" \
        '[-+] *(4194304|8388608|12582912|16777216)(\.0*)?f' | grep -v '#define'
    in_code "$tmp/kernels" '[a-z0-9_)] *[-+] *0\.0*f|[*/] *1\.0*f'
    in_code "$tmp/kernels" 'F32_MAGIC\b' |
        grep -v '^kernels/scalar/\(bits\|exp\)\.h:'
    in_code "$tmp/kernels" '\<([a-z]+) != \1\>'
    in_code "$tmp/kernels" '\? *[-0-9.]+f *: *s_canonical'
    in_code "$tmp/kernels" '\? *[a-z]+ *: *s_copysign'
} >"$tmp/out"
tap_empty 'no kernel text has a form that a driver is known to get wrong'

for f in tests/lint/*.sh tests/*/*.sh tests/*-env tests/*-check tests/*-build \
    build-aux/tally build-aux/progress quickstart; do
    sh -n "$f" 2>&1 || echo "$f"
done >"$tmp/out"
tap_empty 'the shell scripts parse'
tap_done 20
