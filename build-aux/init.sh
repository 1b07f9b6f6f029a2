#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# init.sh - writes the functions that set a struct to its defaults, from the
# SSQ_X_INIT macros of the public headers.
#
# usage: sh build-aux/init.sh header|source|list|without CC INCLUDE
#
# header: include/sesqui/init.h. source: lib/core/base/init.c. list: every macro
# with its struct. without: structs that begin with struct_size and have no macro.
# CC is a C compiler, INCLUDE the folder of the headers.
set -eu
LC_ALL=C
export LC_ALL
want=$1 cc=$2 include=$3
top=$(dirname "$0")/.. awk=${AWK:-awk}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$include" && find sesqui.h sesqui/[a-z]*.h ! -name init.h | sort |
    sed 's/.*/#include <&>/') >"$work/all.c"
# shellcheck disable=SC2086
preprocess() {
    $cc -std=c11 -E "$@" -D'__attribute__(x)=' -I"$include"
}
preprocess -dM "$work/all.c" |
    sed -n 's/^#define \(SSQ_[A-Z0-9_]*_INIT\) .*/\1/p' | sort >"$work/macros"

# Print "MACRO STRUCT" for each macro: its expansion names the struct's size.
{
    cat "$work/all.c"
    sed 's/.*/@ "&" &/' "$work/macros"
} >"$work/each.c"
preprocess -P "$work/each.c" | tr '\n' ' ' | tr '@' '\n' | $awk '
    match($0, /^ *"SSQ_[A-Z0-9_]*"/) {
        name = substr($0, 1, RLENGTH)
        gsub(/[" ]/, "", name)
        if (match($0, /sizeof *\( *ssq_[a-z0-9_]+/)) {
            type = substr($0, RSTART, RLENGTH)
            sub(/.*\( */, "", type)
            print name, type
        } else {
            print name ": no struct" >"/dev/stderr"
            bad = 1
        }
    }
    END { exit bad }' >"$work/list"
preprocess "$work/all.c" | $awk -f "$top/tests/lint/declarations.awk" \
    >"$work/declared"

# The first macro of a struct in the order of names that is named after it, or
# else the first, and its other names: "STRUCT MACRO", sorted.
types() {
    $awk '
        FNR == NR {
            name = toupper($2)
            sub(/_(ARGS|OPTIONS)$/, "", name)
            if (!($2 in macro) || $1 == name "_INIT" ||
                $1 == toupper($2) "_INIT")
                macro[$2] = $1
            next
        }
        $1 == "alias" && $3 in macro { alias[$2] = $3 }
        END {
            for (type in macro)
                print type, macro[type]
            for (type in alias)
                print type, macro[alias[type]]
        }' "$work/list" "$work/declared" | sort
}

notice() {
    cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
END
}

header() {
    notice
    cat <<'END'
/* init.h - the defaults of every struct of arguments and options, as functions.
 *
 * They are for languages that call the library and have no macros of C: Python
 * by ctypes, Rust, Julia, Go. A program in C or C++ has SSQ_GEMM_INIT and the
 * other macros, which are the same, bit for bit.
 *
 *     args = ssq_gemm_args()                          # Python, by ctypes
 *     check(lib.ssq_gemm_args_init(byref(args), sizeof(args)))
 *
 * Each function writes the defaults to *x.
 *  @param size  bytes of the struct as the caller knows it
 *  @return SSQ_ERR_INVALID x is NULL, or the library is of another version and
 *          its struct has another size: the text gives both sizes, and nothing
 *          was written. Since 0.1.
 *
 * `make init` writes this file from the other headers.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_INIT_H
#define SESQUI_INIT_H

END
    # headers that sesqui.h does not include
    echo '#include <sesqui.h>' >"$work/main.c"
    preprocess -M "$work/main.c" | tr -s ' \\' '\n\n' |
        sed -n "s,^.*/\(sesqui/.*\.h\)\$,#include <\1>,p" |
        sort >"$work/included"
    cat "$work/main.c"
    grep -v '<sesqui.h>' "$work/all.c" | sort | comm -23 - "$work/included"
    cat <<'END'

#ifdef __cplusplus
extern "C" {
#endif

END
    types | while read -r type _; do
        line="SSQ_API SSQ_MUST_CHECK ssq_status ${type}_init($type *x, size_t size);"
        [ ${#line} -gt 80 ] || {
            echo "$line"
            continue
        }
        echo 'SSQ_API SSQ_MUST_CHECK ssq_status'
        line="${type}_init($type *x, size_t size);"
        [ ${#line} -gt 80 ] || {
            echo "$line"
            continue
        }
        printf '%s\n    %s\n' "${type}_init(" "$type *x, size_t size);"
    done
    cat <<'END'

#ifdef __cplusplus
}
#endif

#endif
END
}

source() {
    notice
    cat <<'END'
/* init.c - the functions of <sesqui/init.h>; `make init` writes this file. */
#include <sesqui/init.h>

#include "lib/core/base/error.h"

#include <string.h>

/* Padding is copied as well: two structs with defaults have equal bytes. */
static ssq_status init_copy(const char *type, void *x, size_t size,
                            const void *initial, size_t bytes)
{
    if (x == NULL)
        return error_set(SSQ_ERR_INVALID, "%s_init: x is NULL", type);
    if (size != bytes)
        return error_set(SSQ_ERR_INVALID,
                         "%s_init: size is %zu, expected %zu: the caller's "
                         "struct is of another version of the library",
                         type, size, bytes);
    memcpy(x, initial, bytes);
    return SSQ_OK;
}

#define INIT(NAME, DEFAULTS)                                                   \
    ssq_status ssq_##NAME##_init(ssq_##NAME *x, size_t size)                   \
    {                                                                          \
        static const ssq_##NAME initial = DEFAULTS;                            \
        return init_copy(#NAME, x, size, &initial, sizeof(initial));           \
    }

/* clang-format off */
END
    types | sed 's/^ssq_\([^ ]*\) \(.*\)/INIT(\1, \2)/'
    echo '/* clang-format on */'
}

case $want in
header) header ;;
source) source ;;
list) cat "$work/list" ;;
without) $awk '
    FNR == NR { has[$2]; next }
    $1 == "struct" && $3 == "struct_size" && !($2 in has) { print $2 }' \
    "$work/list" "$work/declared" | sort ;;
*) exit 2 ;;
esac
