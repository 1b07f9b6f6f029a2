# SPDX-License-Identifier: Apache-2.0
# idx.sh - the digits of examples/data as IDX files in $tmp/data, in place of
# Fashion-MNIST; read with "." behind tap.sh.

# idx FIRST LAST PART: these lines of the digits. A pixel of 0..16 becomes one of
# 0..255.
idx() {
    for what in images labels; do
        [ $what = images ] && name=images-idx3-ubyte || name=labels-idx1-ubyte
        gzip -dc "$srcdir/examples/data/digits.csv.gz" | LC_ALL=C $AWK -F , \
            -v first="$1" -v last="$2" -v what=$what '
            function word(n) {
                printf "%c%c%c%c", int(n / 16777216) % 256, \
                    int(n / 65536) % 256, int(n / 256) % 256, n % 256
            }
            BEGIN {
                printf "%c%c%c%c", 0, 0, 8, what == "images" ? 3 : 1
                word(last - first + 1)
                if (what == "images") {
                    word(8)
                    word(8)
                }
            }
            NR < first || NR > last { next }
            what == "labels" { printf "%c", $65 + 0 }
            what == "images" {
                for (i = 1; i <= 64; i++)
                    printf "%c", $i == 16 ? 255 : $i * 16
            }' | gzip -n >"$tmp/data/$3-$name.gz"
    done
}
mkdir "$tmp/data"
idx 1 1500 train
idx 1501 1797 t10k

# The first device that is neither reference nor guard, in $fast.
fast=$("$builddir/sesqui" devices 2>/dev/null |
    sed -n 's/^\(opencl:0\|vulkan:0\) .*/\1/p' | sort | head -n 1)
# no_fast NAME: true, after a skip, where there is none.
no_fast() {
    [ -z "$fast" ] || return 1
    tap_missing opencl 'neither opencl:0 nor vulkan:0' "$1"
}

# within NEAR LEAST: accuracies of $line are at least LEAST, and at most NEAR
# points from float32's.
within() {
    set -- "$@" $(echo "$line" | sed -n \
        's/.*accuracy \([0-9.]*\)% (float32 \([0-9.]*\)%).*/\1 \2/p') 0 0
    ${AWK:-awk} "BEGIN { exit !($3 >= $2 && $4 >= $2 && $3 - $4 <= $1 &&
        $4 - $3 <= $1) }"
}
