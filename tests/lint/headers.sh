#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh - every header compiles alone: the public ones as C99, C11 and
# C++17, the internal ones as C11.

. "${srcdir:-.}/tests/lint/tap.sh"

# alone COMPILER LANGUAGE STANDARD HEADER FLAGS...
alone() {
    compiler=$1 language=$2 standard=$3 header=$4
    shift 4
    printf '#include <%s>\n#include <%s>\nextern int ssq_probe;\n' \
        "$header" "$header" >"$tmp/alone.$language"
    tap_run "$header alone, and twice, as $standard by ${compiler##*/}" \
        $compiler -std="$standard" -Wall -Wextra -Wpedantic -Wundef -Wshadow \
        -Werror "$@" -fsyntax-only "$tmp/alone.$language"
}

public=$(cd "$srcdir/include" && find . -name '*.h' | LC_ALL=C sort)
n=0
for h in $public; do
    h=${h#./}
    n=$((n + 1))
    alone "$CC" c c99 "$h" -I"$srcdir/include" -Wstrict-prototypes
    alone "$CC" c c11 "$h" -I"$srcdir/include" -Wstrict-prototypes -Wc++-compat
    if [ -n "$CXX" ]; then
        alone "$CXX" cc c++17 "$h" -I"$srcdir/include"
    else
        tap_skip 'no C++ compiler' "$h alone as c++17"
    fi
done
tap_ok "$((n < 2))" "include/ has more than one header: $n"

# kernels/prebuilt_*.h, of a tarball, are not headers but tables that one source
# includes behind the types of their elements. Alone, nothing calls an internal
# header's functions, of which clang warns.
for h in $(cd "$srcdir" && find lib kernels backends comms conformance tests \
    tools examples -name '*.h' ! -path 'kernels/prebuilt_*.h' | LC_ALL=C sort); do
    alone "$CC" c c11 "$h" -I"$srcdir" -I"$srcdir/include" -I"$builddir" \
        -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -ffp-contract=off \
        -Wno-unused-function
done

# The structs a caller fills are initialised by plain braces, in both languages.
# What SSQ_X_INIT initialises is the type that its sizeof names.
(cd "$srcdir/include" && find . -name '*.h' -exec cat {} +) |
    sed -n 's/^#define \(SSQ_[A-Z0-9_]*_INIT\).*/\1/p' | LC_ALL=C sort -u \
    >"$tmp/inits"
{
    echo '#include <sesqui.h>'
    echo '#include <sesqui/cpu.h>'
    echo '#include <sesqui/data.h>'
    echo '#include <sesqui/dlpack.h>'
    echo '#include <sesqui/share.h>'
    echo '#include <sesqui/vulkan.h>'
    sed 's/.*/INIT "&" &/' "$tmp/inits"
} >"$tmp/inits.c"
$CC -std=c11 -E -P -I"$srcdir/include" "$tmp/inits.c" | sed -n \
    's/^INIT "\([A-Z0-9_]*\)" { *sizeof(\([a-z0-9_ ]*\)).*/\1 \2/p' >"$tmp/types"
n=$(grep -c '' "$tmp/inits")
tap_ok "$((n != $(grep -c '' "$tmp/types")))" \
    "all $n SSQ_X_INIT begin with the sizeof of their struct"
# -Wextra would ask for every field; that they may be left out is the point.
{
    echo '#include <sesqui.h>'
    echo '#include <sesqui/cpu.h>'
    echo '#include <sesqui/data.h>'
    echo '#include <sesqui/dlpack.h>'
    echo '#include <sesqui/share.h>'
    echo '#include <sesqui/vulkan.h>'
    while read -r init type; do
        echo "size_t probe_$init(void);"
        echo "size_t probe_$init(void)"
        echo "{ $type x = $init; return x.struct_size; }"
    done <"$tmp/types"
} >"$tmp/init.c"
cp "$tmp/init.c" "$tmp/init.cc"
tap_run "$n structs from their SSQ_X_INIT as c11" $CC -std=c11 -Wall -Wextra \
    -Wno-missing-field-initializers -Wpedantic -Werror -I"$srcdir/include" \
    -fsyntax-only "$tmp/init.c"
if [ -n "$CXX" ]; then
    tap_run "$n structs from their SSQ_X_INIT as c++17" $CXX -std=c++17 -Wall \
        -Wextra -Wno-missing-field-initializers -Wpedantic -Werror \
        -I"$srcdir/include" -fsyntax-only "$tmp/init.cc"
else
    tap_skip 'no C++ compiler' "$n structs from their SSQ_X_INIT as c++17"
fi
tap_done 20
