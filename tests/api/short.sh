#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# short.sh - the short examples run and learn, and are short: at most 1.5 times
# as many lines of code as the programs that they repeat.

. "${srcdir:-.}/tests/lint/tap.sh"

unset SSQ_DEVICE SSQ_IMPL SSQ_VERBOSE
. "${srcdir:-.}/tests/api/idx.sh"
short=$(cd "$builddir" && pwd)/examples/short

# above LEAST: every accuracy in $tmp/out is higher, and there are some.
above() {
    sed -n 's/.*accuracy \([0-9.]*\)$/\1/p' "$tmp/out" | $AWK -v least="$1" '
        $1 + 0 <= least { low = 1 }
        END { exit low || NR == 0 }'
}

(cd "$tmp" && "$short/torch_amp" cpu 64) >"$tmp/out" 2>&1
sed -n 's/.*loss //p' "$tmp/out" | $AWK '
    { loss[NR] = $1 }
    END { exit !(NR == 4 && loss[2] / loss[1] < 1.01 &&
        loss[1] / loss[2] < 1.01 && loss[4] < loss[2]) }'
tap_ok $? 'torch_amp: mixed as default precision, and it goes on' ||
    sed 's/^/# /' "$tmp/out"

tap_run 'keras_guide runs' "$short/keras_guide" "$tmp/data" cpu
grep test "$tmp/out" >"$tmp/test" && mv "$tmp/test" "$tmp/out"
above 0.8
tap_ok $? 'by fit and by a custom loop: at least 80 %' ||
    sed 's/^/# /' "$tmp/out"

# The digits 3 and 7 as PNG files of 24 x 24 pixels, moved about.
cat >"$tmp/pictures.py" <<'END'
import gzip, os, struct, sys, zlib
rows = [list(map(int, line.split(","))) for line in gzip.open(sys.argv[1], "rt")]
def chunk(name, data):
    return (struct.pack(">I", len(data)) + name + data +
            struct.pack(">I", zlib.crc32(name + data)))
for i, row in enumerate(rows):
    part = "train" if i < 1500 else "valid"
    if row[64] not in (3, 7):
        continue
    folder = f"{sys.argv[2]}/{part}/{row[64]}"
    os.makedirs(folder, exist_ok=True)
    for move in range(6 if part == "train" else 1):
        lines = b""
        for y in range(24):
            line = bytes(min(255, 16 * row[y // 3 * 8 + (x + move - 3) % 24 // 3])
                         for x in range(24))
            lines += b"\0" + line
        head = struct.pack(">IIBBBBB", 24, 24, 8, 0, 0, 0, 0)
        with open(f"{folder}/{i}-{move}.png", "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
                    chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
END
if ! command -v python3 >/dev/null 2>&1; then
    tap_missing python 'no python3' 'fastai_simple_cnn runs'
elif ! case $(PATH=$PATH:/sbin ldconfig -p) in *libpng16.so.16*) ;;
    *) false ;; esac; then
    tap_skip 'no libpng16.so.16: install libpng16-16' 'fastai_simple_cnn runs'
else
    python3 "$tmp/pictures.py" "$srcdir/examples/data/digits.csv.gz" \
        "$tmp/pictures"
    tap_run 'fastai_simple_cnn runs' "$short/fastai_simple_cnn" \
        "$tmp/pictures" cpu
    above 0.85
    tap_ok $? 'one epoch: at least 85 %' || sed 's/^/# /' "$tmp/out"
fi

# lines FILE: of code, without comments and empty lines.
lines() {
    $AWK -v python="$(expr "$1" : '.*[.]py$')" '
        python && /"""/ { n = gsub(/"""/, ""); text = n == 1 ? !text : text; next }
        !python && /^ *\/\*/ { text = 1 }
        text { if (!python && /\*\//) text = 0; next }
        /^ *(#!|# |$)/ && (python || /^ *$/) { next }
        { count++ }
        END { print count + 0 }' "$1"
}

# The originals' lines of code, counted on 2026-11-28 in
# pytorch/tutorials 00b83bf (recipes/amp_recipe.py) and tensorflow/docs 003388b
# (guide/mixed_precision.ipynb). fastai's example has six lines, which call its
# data block, its model and its training loop. Our own limit for it keeps the
# program short enough to read.
while read -r original c python; do
    for file in "examples/short/$c" "python/examples/$python"; do
        n=$(lines "$srcdir/$file")
        [ "$n" -gt 20 ] && [ "$n" -le $((original * 3 / 2)) ]
        tap_ok $? "$file has $n lines, at most 1.5 times $original"
    done
done <<'END'
93 torch_amp.c torch_amp_loop.py
82 keras_guide.c keras_guide.py
70 fastai_simple_cnn.c fastai_simple_cnn.py
END
tap_done 9
