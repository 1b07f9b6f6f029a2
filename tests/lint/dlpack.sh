#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dlpack.sh - <sesqui/dlpack.h> declares what dlpack/dlpack.h does: the same
# values and the same layout. Both may be included, in any order, in C and C++.

. "${srcdir:-.}/tests/lint/tap.sh"
include=$srcdir/include
skipped=

# compiles LANGUAGE LINE...: these lines are a program.
compiles() {
    language=$1
    shift
    printf '%s\n' "$@" 'int main(void) { return 0; }' >"$tmp/p.$language"
    case $language in
    c) $CC -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$include" \
        "$tmp/p.c" ;;
    cc) $CXX -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$include" \
        "$tmp/p.cc" ;;
    esac
}

# Sizes and offsets, a line each.
layout() {
    cat <<'END'
#include <stddef.h>
#include <stdio.h>
#define SIZE(T) printf("%s has %zu bytes\n", #T, sizeof(T));
#define AT(T, M) printf("%s.%s at %zu\n", #T, #M, offsetof(T, M));
int main(void)
{
    SIZE(DLDevice) AT(DLDevice, device_type) AT(DLDevice, device_id)
    SIZE(DLDataType) AT(DLDataType, code) AT(DLDataType, bits)
    AT(DLDataType, lanes)
    SIZE(DLTensor) AT(DLTensor, data) AT(DLTensor, device) AT(DLTensor, ndim)
    AT(DLTensor, dtype) AT(DLTensor, shape) AT(DLTensor, strides)
    AT(DLTensor, byte_offset)
    SIZE(DLManagedTensor) AT(DLManagedTensor, dl_tensor)
    AT(DLManagedTensor, manager_ctx) AT(DLManagedTensor, deleter)
#ifdef DLPACK_MAJOR_VERSION
    /* dlpack.h 1.0 has no typedef of it */
    SIZE(struct DLManagedTensorVersioned)
    AT(struct DLManagedTensorVersioned, version)
    AT(struct DLManagedTensorVersioned, manager_ctx)
    AT(struct DLManagedTensorVersioned, deleter)
    AT(struct DLManagedTensorVersioned, flags)
    AT(struct DLManagedTensorVersioned, dl_tensor)
#endif
END
}

# facts HEADER NAMES: the layout, and the values of these enumerators.
facts() {
    {
        printf '#include <%s>\n' "$1"
        layout
        sed 's/.*/printf("& is %d\\n", (int)&);/' "$2"
        echo 'return 0; }'
    } >"$tmp/facts.c"
    $CC -std=c11 -I"$include" -o "$tmp/facts" "$tmp/facts.c" && "$tmp/facts"
}

ours='#include <sesqui/dlpack.h>'
theirs='#include <dlpack/dlpack.h>'
compiles c "$ours" "$ours" 'DLManagedTensorVersioned x;'
tap_ok $? 'it stands alone in C'
compiles cc "$ours" "$ours" 'DLManagedTensorVersioned x;'
tap_ok $? 'and in C++'
if printf '%s\n' "$theirs" | $CC -E -x c - >"$tmp/all" 2>/dev/null; then
    sed -n 's/^# [0-9]* "\(.*dlpack\.h\)".*/\1/p' "$tmp/all" | head -n 1 |
        xargs sed -n 's/^ *\(kDL[A-Za-z0-9_]*\) = .*/\1/p' >"$tmp/names"
    facts dlpack/dlpack.h "$tmp/names" >"$tmp/theirs" &&
        facts sesqui/dlpack.h "$tmp/names" >"$tmp/mine"
    grep -vxFf "$tmp/mine" "$tmp/theirs" >"$tmp/differ"
    tap_ok "$(($(grep -c '' "$tmp/theirs") < 30 ||
        $(grep -c '' "$tmp/differ")))" \
        "$(grep -c '' "$tmp/theirs") facts of dlpack/dlpack.h are ours, too"
    sed 's/^/# /' "$tmp/differ"
    for language in c cc; do
        compiles $language "$ours" "$theirs" 'DLManagedTensor x;'
        tap_ok $? "ours, then theirs ($language)"
        compiles $language "$theirs" "$ours" 'DLManagedTensor x;'
        tap_ok $? "theirs, then ours ($language)"
    done
else
    tap_skip 'no dlpack/dlpack.h: install libdlpack-dev' \
        'the same values and layout'
fi
tap_done 2
