#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sass.sh - machine code beside the PTX (configure --with-cuda-arch): one text
# as nvcc makes it of the shipped sources, for two GPUs; refusals of configure;
# and how large the module is.

. "${srcdir:-.}/tests/lint/tap.sh"

most=16777216
module=$builddir/.libs/cuda.so
if [ -f "$module" ]; then
    bytes=$(wc -c <"$module")
    [ "$bytes" -lt $most ]
    tap_ok $? "the module has $((bytes)) bytes, less than $most"
else
    tap_missing fakecuda 'the cuda module is not built' 'its size'
fi

# configure_says PATTERN ARGUMENT...: it fails, and says why.
here=$(cd "$srcdir" && pwd)
configure_says() {
    pattern=$1
    shift
    mkdir "$tmp/tree"
    (cd "$tmp/tree" && ! "$here/configure" --quiet "$@" CC="${CC:-cc}") \
        >"$tmp/said" 2>&1
    ended=$?
    rm -rf "$tmp/tree"
    tail -n 3 "$tmp/said"
    [ $ended -eq 0 ] && grep -q -e "$pattern" "$tmp/said"
}
if [ -n "${SSQ_TEST_FULL-}" ]; then
    # a toolkit that has headers and no more
    mkdir -p "$tmp/toolkit/include"
    touch "$tmp/toolkit/include/cuda.h" "$tmp/toolkit/include/cublasLt.h"
    if [ -x /usr/bin/nvcc ]; then
        tap_skip 'nvcc is in /usr/bin' 'configure without nvcc'
    else
        PATH=/usr/bin:/bin tap_run 'configure: no nvcc, no machine code' \
            configure_says 'needs nvcc' --with-cuda-arch=80 \
            --with-cuda="$tmp/toolkit"
    fi
    tap_run 'configure: a word is no compute capability' configure_says \
        'numbers like 80,90' --with-cuda-arch=ampere NVCC=true
    tap_run 'configure: nvcc does not know every GPU' configure_says \
        'makes none for sm_71' --with-cuda-arch=71 NVCC=false
fi

nvcc=${NVCC-}
for dir in "${CUDA_DIR-}" /usr/local/cuda; do
    [ -n "$nvcc" ] || [ ! -x "$dir/bin/nvcc" ] || nvcc=$dir/bin/nvcc
done
[ -n "$nvcc" ] || nvcc=$(command -v nvcc)
if [ -z "$nvcc" ] || ! command -v od >/dev/null 2>&1; then
    tap_skip 'NO CUDA TOOLKIT: configure --with-cuda=DIR' 'machine code'
    tap_done 0
    exit 0
fi
if [ ! -f "$builddir/kernels/ptx_table.h" ]; then
    tap_skip 'the cuda module is not built' 'machine code'
    tap_done 0
    exit 0
fi

# One text's lines of the table, with all of the pack after them.
grep 'kernels/data/fill.k' "$builddir/kernels/ptx_table.h" >"$tmp/ptx_table.h"
cp "$builddir/kernels/ptx.pack" "$tmp/ptx.pack"
variants=$(grep -c '' "$tmp/ptx_table.h")

# byte FILE OFFSET
byte() {
    od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' '
}

# made ARCH: each module unpacks to an ELF file of NVIDIA's machine (190) with
# that architecture among its flags: CUDA 13 has it in their second byte, older
# ones in the first.
made() {
    NVCC=$nvcc sh "$srcdir/kernels/pack.sh" sass device "$srcdir" "$tmp/ptx" \
        "$1" "$tmp/$1.pack" || return
    [ "$(tail -n 1 "$tmp/$1.table")" = \
        "$variants $(($(wc -c <"$tmp/$1.pack")))" ] || return
    sed '$d' "$tmp/$1.table" >"$tmp/lines"
    while read -r at bytes size variant; do
        tail -c "+$((at + 1))" "$tmp/$1.pack" | head -c "$bytes" |
            gzip -dc >"$tmp/cubin"
        echo "$variant: $(byte "$tmp/cubin" 48) $(byte "$tmp/cubin" 49)"
        [ "$(wc -c <"$tmp/cubin")" -eq "$size" ] &&
            [ "$(head -c 4 "$tmp/cubin" | tail -c 3)" = ELF ] &&
            [ "$(byte "$tmp/cubin" 18)" -eq 190 ] &&
            { [ "$(byte "$tmp/cubin" 48)" -eq "$1" ] ||
                [ "$(byte "$tmp/cubin" 49)" -eq "$1" ]; } || return
    done <"$tmp/lines"
}
tap_run "fill.k in $variants variants as code of sm_80" made 80
tap_run "fill.k in $variants variants as code of sm_90" made 90

sh "$srcdir/kernels/pack.sh" sass devices "$srcdir" "$tmp/80.pack" \
    "$tmp/90.pack" >"$tmp/table"
[ "$(grep -c '^    {' "$tmp/table")" -eq $((2 * variants + 1)) ] &&
    [ "$(tr -d ' \n' <"$tmp/table" | grep -c '={80,90,0};')" -eq 1 ]
tap_ok $? 'the table has both GPUs, and all of their modules'
tap_done 3
