#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh - libsesqui.so exports what the headers declare, all of it at
# version SSQ_0, and needs nothing but libc, libm and libdl.
#
# tests/lint/symbols.txt has the names of the last release and of everything
# that was added to it since: none may go or change its name. A new one needs no
# line: it is shown, and taken into the list with the next release, or whenever
# the list must change, from the build directory:
#     make update-symbols

. "${srcdir:-.}/tests/lint/tap.sh"

so=$builddir/.libs/libsesqui.so
recorded=$srcdir/tests/lint/symbols.txt

# Of each default-visibility declaration, the first name before a parenthesis.
printf '#include <sesqui.h>\n#include <sesqui/init.h>\n#include <sesqui/mpi.h>\n#include <sesqui/nccl.h>\n#include <sesqui/cpu.h>\n#include <sesqui/cuda.h>\n#include <sesqui/data.h>\n#include <sesqui/dlpack.h>\n#include <sesqui/opencl.h>\n#include <sesqui/share.h>\n#include <sesqui/vulkan.h>\n' >"$tmp/all.c"
$CC -std=c11 -E -P -I"$srcdir/include" "$tmp/all.c" | tr '\n' ' ' |
    awk '{
        n = split($0, part, /visibility\("default"\)/)
        for (i = 2; i <= n; i++)
            if (match(part[i], /ssq_[a-z0-9_]+ *\(/)) {
                name = substr(part[i], RSTART, RLENGTH)
                sub(/ *\($/, "", name)
                print name
            }
    }' | LC_ALL=C sort -u >"$tmp/declared"
$NM -D --defined-only "$so" | awk '{ print $NF }' | grep -v '^SSQ_0$' |
    LC_ALL=C sort -u >"$tmp/versioned"
sed 's/@.*//' "$tmp/versioned" | LC_ALL=C sort -u >"$tmp/exported"

if [ "${1-}" = --update ]; then
    cp "$tmp/exported" "$recorded"
    exit
fi

n=$(grep -c '' "$tmp/exported")
tap_ok "$((n < 1))" "libsesqui.so exports functions: $n"
grep -v '@@SSQ_0$' "$tmp/versioned" >"$tmp/out"
tap_empty 'every exported name has the version SSQ_0'
grep -v '^ssq_[a-z0-9_]*$' "$tmp/exported" >"$tmp/out"
tap_empty 'every exported name begins with ssq_'
LC_ALL=C comm -13 "$tmp/declared" "$tmp/exported" >"$tmp/out"
tap_empty 'every exported name is declared in include/'
LC_ALL=C comm -23 "$tmp/declared" "$tmp/exported" >"$tmp/out"
tap_empty 'every function declared in include/ is exported'
LC_ALL=C comm -23 "$recorded" "$tmp/exported" >"$tmp/out" 2>&1
tap_empty 'no name of symbols.txt is gone (make update-symbols)'
LC_ALL=C comm -13 "$recorded" "$tmp/exported" | sed 's/^/# new since the list: /'

readelf -d "$so" >"$tmp/dynamic"
grep -q 'SONAME.*\[libsesqui\.so\.0\]' "$tmp/dynamic"
tap_ok $? 'the SONAME is libsesqui.so.0'
sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$tmp/dynamic" |
    grep -Ev '^(libc|libm|libdl|libpthread|ld-linux[-_a-z0-9]*)\.so\.' \
        >"$tmp/out"
tap_empty 'libsesqui.so needs only the libraries of libc'
grep -E 'RPATH|RUNPATH|TEXTREL' "$tmp/dynamic" >"$tmp/out"
tap_empty 'libsesqui.so has no run path and no text relocations'
# the calls of the objects of tests, tools and examples, tables and macros
# included
find "$builddir/conformance" "$builddir/tests" "$builddir/tools" \
    "$builddir/examples" -name '*.o' \
    -exec $NM -u {} + | awk '$1 == "U" { print $2 }' | LC_ALL=C sort -u \
    >"$tmp/called"
# init's.h are called by a program of init.sh, that of mpi.h by programs
# that only a build with MPI has
[ -f "$builddir/mpi.la" ] && without='_init$' ||
    without='_init$\|^ssq_comm_mpi_open$'
LC_ALL=C comm -23 "$tmp/declared" "$tmp/called" | grep -v "$without" \
    >"$tmp/out"
tap_empty 'every public function is called by a test, a tool or an example'
tap_done 10
