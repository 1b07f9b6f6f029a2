#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ptx.sh - the interpreter decodes the PTX of every kernel text in all of its
# variants, as clang writes it for the lowest level that the module ships.

. "${srcdir:-.}/tests/kernel/kernel.sh"

if ! command -v clang >/dev/null 2>&1; then
    tap_skip 'no clang' 'every variant decodes'
    tap_done 0
    exit 0
fi
for text in $texts; do
    name=${text##*/}
    kernel_list "$text" | ${AWK:-awk} -v text="$text" -v top="$srcdir" \
        -f "$srcdir/tests/kernel/batch.awk" >"$tmp/all.c"
    clang -x cuda -nocudainc -nocudalib --cuda-device-only \
        --cuda-gpu-arch=sm_70 -Wno-unknown-cuda-version -O2 \
        -ffp-contract=off -DWG=64 -DWIDTH=4 "-I$srcdir" -S \
        -o "$tmp/${name%.k}.ptx" "$tmp/all.c" 2>"$tmp/err" ||
        sed 's/^/# /' "$tmp/err"
done
"${builddir:-.}/tests/fakecuda/ptx_decode_all" "$tmp"/*.ptx >"$tmp/decoded"
grep '^#\|^not ok' "$tmp/decoded" | sed 's/^not ok/# not ok/'
tap_ok "$(grep -c '^not ok' "$tmp/decoded")" 'every entry decodes'
tap_ok "$(($(grep -c '^ok' "$tmp/decoded") != $(echo "$texts" | wc -l)))" \
    'every text has been compiled and read'
tap_done 2
