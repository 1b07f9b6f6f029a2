#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# init.sh - <sesqui/init.h> and lib/core/base/init.c are what build-aux/init.sh makes
# of the headers; every struct with a struct_size has its function; and each
# function gives the bytes of the macro, and of every other macro of the struct.

. "${srcdir:-.}/tests/lint/tap.sh"

include=$srcdir/include
lib=$builddir/.libs
LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH

made() {
    sh "$srcdir/build-aux/init.sh" "$1" "$CC" "$include"
}

made header | diff "$include/sesqui/init.h" - >"$tmp/out" 2>&1
tap_empty 'init.h has the macros of the headers: else make init'
made source | diff "$srcdir/lib/core/base/init.c" - >"$tmp/out" 2>&1
tap_empty 'so does init.c'
# Allocators have no defaults: their functions are the caller's.
made without | grep -vx -e ssq_allocator -e ssq_cuda_allocator >"$tmp/out"
tap_empty 'every struct that begins with struct_size has defaults'

made list >"$tmp/list"
n=$(grep -c '' "$tmp/list")
tap_ok "$((n < 200))" "$n macros"
{
    echo '#include <sesqui/init.h>'
    echo '#include <stdio.h>'
    echo '#include <string.h>'
    echo 'static int bad;'
    # One function for each, since a struct on the stack of main would add up.
    while read -r macro type; do
        cat <<END
static void try_$macro(void)
{
    static const $type want = $macro;
    static $type got;
    memset(&got, 0xa5, sizeof(got));
    if (${type}_init(&got, sizeof(got) - 1) != SSQ_ERR_INVALID ||
        *(unsigned char *)&got != 0xa5 ||
        strstr(ssq_last_error(), "${type#ssq_}_init: ") == NULL ||
        ${type}_init(NULL, sizeof(got)) != SSQ_ERR_INVALID)
        bad = puts("$type: what cannot be is not refused") != EOF;
    if (${type}_init(&got, sizeof(got)) != SSQ_OK ||
        memcmp(&got, &want, sizeof(got)) != 0)
        bad = puts("$macro") != EOF;
}
END
    done <"$tmp/list"
    echo 'int main(void) {'
    sed 's/\([^ ]*\) .*/try_\1();/' "$tmp/list"
    echo 'return bad; }'
} >"$tmp/try.c"
tap_run 'a program of them compiles' $CC -std=c11 -Wall -Wextra -Wpedantic \
    -Werror $CFLAGS -I"$include" -o "$tmp/try" "$tmp/try.c" -L"$lib" -lsesqui &&
    tap_run 'each function gives the bytes of the macro' "$tmp/try"

# The error for a program compiled for another size of a struct.
cat >"$tmp/told.c" <<'END'
#include <sesqui/init.h>
#include <stdio.h>
int main(void)
{
    ssq_gemm_args g;
    ssq_status st = ssq_gemm_args_init(&g, sizeof(g) + 8);
    printf("%s %zu\n", ssq_last_error(), sizeof(g));
    return st != SSQ_ERR_INVALID;
}
END
tap_run 'another size' sh -c "$CC -std=c11 -I'$include' -o '$tmp/told' \
    '$tmp/told.c' -L'$lib' -lsesqui && '$tmp/told'"
awk '/^gemm_args_init: size is [0-9]*, expected [0-9]*: / &&
    $6 + 0 == $NF && $4 + 0 == $NF + 8 { n++ } END { exit n != 1 }' "$tmp/out"
tap_ok $? "it is told both: $(cat "$tmp/out")"

# By name and size, as a binding calls it.
if python3 -c 'import ctypes' 2>/dev/null; then
    cat >"$tmp/try.py" <<END
import ctypes
lib = ctypes.CDLL("$lib/libsesqui.so.0")
size = ctypes.c_size_t
class Props(ctypes.Structure):
    _fields_ = [("struct_size", size), ("seed", ctypes.c_uint64)]
p = Props(1, 2)
lib.ssq_params_options_init.argtypes = [ctypes.c_void_p, size]
assert lib.ssq_params_options_init(ctypes.byref(p), 1) != 0
assert p.struct_size == 1 and p.seed == 2
END
    tap_run 'Python calls one' python3 "$tmp/try.py"
else
    tap_skip 'no python3' 'Python calls one'
fi
tap_done 9
