# SPDX-License-Identifier: Apache-2.0
# shipped.sh - the PTX that ships, source by source; read with ".".

packs=${builddir:-.}/kernels

# shipped TEXT: its variants' PTX as one module, entries numbered.
shipped() {
    range=$(sed -n 's|^ *{\([0-9]*\), \([0-9]*\), .*/\* \([^ ]*\).*|\3 \1 \2|p' \
        "$packs/ptx_table.h" | ${AWK:-awk} -v text="$1" '
        $1 == text { if (n == 0) at = $2; n += $3 }
        END { print at + 1, n }')
    tail -c "+${range% *}" "$packs/ptx.pack" | head -c "${range#* }" |
        gzip -dc | ${AWK:-awk} '
        /^\.(version|target|address_size) / { if (seen[$1]++) next }
        /^\.visible \.entry / { sub(/\($/, "_v" ++n "(") }
        { print }'
}
