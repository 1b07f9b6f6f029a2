#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compile.sh - build fuzz targets against a library that is built already.
#
# usage: compile.sh DIRECTORY BUILD TARGET...
# BUILD is the build directory whose library is linked; FUZZ_CC the compiler
# (clang), FUZZ_CFLAGS more flags, such as a sanitizer's, which the library must
# have too. Exits 77 with the reason without libFuzzer.

set -e
dir=$1 build=$2
shift 2
: "${FUZZ_CC:=clang}" "${AWK:=awk}" "${srcdir:?}"
flags="-g -O1 -std=gnu11 -Wall -Wextra -Werror -fsanitize=fuzzer $FUZZ_CFLAGS"
mkdir -p "$dir"

echo '#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n)
{
    return n > 1000000 && d[0] == 1 ? -1 : 0;
}' >"$dir/probe.c"
if ! $FUZZ_CC $flags -o "$dir/probe" "$dir/probe.c" >"$dir/probe.log" 2>&1; then
    echo "$FUZZ_CC links no libFuzzer: $(head -n 1 "$dir/probe.log")"
    exit 77
fi

$AWK -f "$srcdir/tests/fuzz/table.awk" "$srcdir/include/sesqui/dtype.h" \
    "$srcdir"/include/sesqui/ops/*.h >"$dir/table.h"
$AWK -f "$srcdir/tests/fuzz/vars.awk" "$srcdir/include/sesqui/vars.h" \
    >"$dir/vars_table.h"
if [ -f "$build/.libs/libsesqui.so" ]; then
    library="-L$build/.libs -lsesqui -Wl,-rpath,$build/.libs"
else
    library="$build/libcore.a -lpthread -ldl"
fi
at=$srcdir/tests/fuzz
for target; do
    case $target in
    calls)
        sources="calls call perform shape action queues scalers optimizers"
        sources="$sources metrics"
        ;;
    tapes) sources="tapes tape_vars tape_layers tape_train call perform shape" ;;
    *) sources=$target ;;
    esac
    files=
    for s in $sources ops pair values; do
        files="$files $at/$s.c"
    done
    [ "$target" != environment ] || files="$files $srcdir/lib/core/module/disk_cache.c"
    $FUZZ_CC $flags -I"$dir" -I"$srcdir/include" -I"$srcdir" \
        -o "$dir/$target" $files $library -lm
done
