#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sizes.sh - the size of every public struct, where its members are, and the
# value of every public constant are those recorded in tests/lint/sizes.txt:
# a change of the binary interface is not made by accident. A new struct or
# constant needs no line: it is shown, and taken into the list with the next
# release. Recorded for machines with pointers and long of 64 bits. After a
# change that is meant, from the build directory:
#     make update-sizes

. "${srcdir:-.}/tests/lint/tap.sh"

recorded=$srcdir/tests/lint/sizes.txt

headers() {
    for h in sesqui.h sesqui/mpi.h sesqui/nccl.h sesqui/cpu.h sesqui/cuda.h sesqui/data.h sesqui/dlpack.h sesqui/opencl.h sesqui/share.h sesqui/vulkan.h; do
        echo "#include <$h>"
    done
}

headers >"$tmp/all.c"
$CC -std=c11 -E -D'__attribute__(x)=' -I"$srcdir/include" "$tmp/all.c" |
    $AWK -f "$srcdir/tests/lint/declarations.awk" >"$tmp/declared"
{
    headers
    echo '#include <stddef.h>'
    echo '#include <stdio.h>'
    echo 'int main(void)'
    echo '{'
    $AWK '
        $1 == "struct" {
            printf "printf(\"%s %%zu:\", sizeof(%s));\n", $2, $2
            for (i = 3; i <= NF; i++) {
                sub(/:.*/, "", $i)
                printf "printf(\" %s %%zu\", offsetof(%s, %s));\n", $i, $2, $i
            }
            print "puts(\"\");"
        }
        $1 == "enum" { printf "printf(\"%s %%d\\n\", (int)%s);\n", $2, $2 }
        ' "$tmp/declared"
    echo 'return sizeof(void *) == 8 && sizeof(long) == 8 ? 0 : 77;'
    echo '}'
} >"$tmp/sizes.c"
tap_run 'a program that prints sizes builds' $CC -std=c11 -I"$srcdir/include" \
    -o "$tmp/sizes" "$tmp/sizes.c"
"$tmp/sizes" >"$tmp/measured"
status=$?

if [ "${1-}" = --update ]; then
    cp "$tmp/measured" "$recorded"
    exit
fi

if [ "$status" -eq 77 ]; then
    tap_skip 'pointers or long are not of 64 bits' 'sizes are as recorded'
    tap_done 1
    exit
fi
n=$(grep -c : "$tmp/measured")
tap_ok "$((n < 50))" "the headers declare structs: $n"
grep -vxF -f "$tmp/measured" "$recorded" >"$tmp/out" 2>&1
tap_empty 'sizes, members and constants are as recorded (make update-sizes)'
grep -vxF -f "$recorded" "$tmp/measured" | sed 's/^/# new since the list: /'
tap_done 3
