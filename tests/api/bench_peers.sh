#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_peers.sh - the programs of bench/: peers compile and answer, and compare
# makes tables of their output. The libraries are stand-ins.

. "${srcdir:-.}/tests/lint/tap.sh"

top=$(cd "$srcdir" && pwd)
folder=$tmp/peers

# A library of products, which are right; and one that has none.
cat >"$tmp/blas.c" <<'END'
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta,
                 float *d, int ldd);
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta,
                 float *d, int ldd)
{
    for (int i = 0; order == 101 && ta == 111 && tb == 111 && i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int l = 0; l < k; l++)
                sum += a[i * lda + l] * b[l * ldb + j];
            d[i * ldd + j] = alpha * sum + beta;
        }
}
END
echo 'int nothing;' >"$tmp/none.c"
for library in blas none; do
    $CC -std=c11 -fPIC -shared -o "$tmp/$library.so" "$tmp/$library.c" || exit 1
done

PEER_OPENBLAS=$tmp/blas.so PEER_ONEDNN=$tmp/none.so PEER_PYTHON=false \
    CC="$CC -Wall -Wextra -Werror" sh "$top/bench/fetch-peers" "$folder" \
    pytorch onednn openblas clblast >"$tmp/out" 2>&1
tap_ok $? 'peers compile without a warning' || sed 's/^/# /' "$tmp/out"
for peer in pytorch onednn openblas clblast; do
    [ -x "$folder/$peer" ] || echo "$peer"
done >"$tmp/out"
tap_empty 'each has a program'

printf '%s\n' 'gemm f32 4x5x6' 'gemm f32 3x3x3x2' 'gemm bf16 4x5x6' \
    'add f32 7' >"$tmp/cases"
"$folder/openblas" --seconds 0.001 --threads 1 <"$tmp/cases" >"$tmp/rows"
[ "$(grep -c '"device": "openblas", "case": "gemm f32 .*"median_s": [0-9]' \
    "$tmp/rows")" -eq 2 ] && [ "$(grep -c '"skipped": ' "$tmp/rows")" -eq 2 ]
tap_ok $? 'products are timed, others are skipped' ||
    sed 's/^/# /' "$tmp/rows"
"$folder/onednn" <"$tmp/cases" >"$tmp/rows"
[ "$(grep -c '"skipped": "a libdnnl without' "$tmp/rows")" -eq 4 ]
tap_ok $? 'a library without its functions is no peer' ||
    sed 's/^/# /' "$tmp/rows"
tap_run 'no such peer, before anything is made' sh -c \
    "! sh '$top/bench/fetch-peers' '$tmp/x' clblast nothing && ! [ -e '$tmp/x' ]"
tap_run 'fetch-peers says how it is used' sh -c \
    "sh '$top/bench/fetch-peers' --help | grep -q '^usage: .* FOLDER'"
tap_run 'so does quickstart, of words it does not know' sh -c \
    "sh '$top/quickstart' check --nofetch 2>&1 | grep -q 'option: check --nofetch'"

if ! python3 -c 'import argparse' 2>/dev/null; then
    tap_skip 'compare' 'no python3'
    tap_done 8
    exit
fi

# Peers whose times are known: one that is hopeless, one that cannot be beaten,
# one that ends.
peer() {
    cat >"$folder/$1"
    chmod +x "$folder/$1"
}
rm -f "$folder"/pytorch "$folder"/onednn "$folder"/openblas "$folder"/clblast
peer onednn <<'END'
#!/bin/sh
echo 'a line that is none'
while read -r case; do
    echo "{\"device\": \"onednn\", \"case\": \"$case\", \"median_s\": 1000}"
done
END
peer pytorch <<'END'
#!/bin/sh
while read -r case; do
    case $case in
    cast*) echo "{\"case\": \"$case\", \"median_s\": 1e-12}" ;;
    *) echo "{\"case\": \"$case\", \"skipped\": \"no\"}" ;;
    esac
done
END
peer gone <<'END'
#!/bin/sh
exit 1
END
printf '%s\n' 'gemm f32 8x8x8' 'gemm f16 8x8x8' 'gemm bf16 8x8x8' \
    'cast f16:f32 100' 'mlp f32 4x3x2' >"$tmp/cases"
python3 "$top/bench/compare" --sesqui "$builddir/sesqui" --device reference \
    --peers "$folder" --cases "$tmp/cases" --rounds 2 --seconds 0.001 \
    --threads 1,2 --out "$tmp/table.md" --json "$tmp/all.json" \
    --growth "$tmp/growth" --brief >"$tmp/out" 2>&1
tap_ok $? 'compare has tables' || sed 's/^/# /' "$tmp/out"
has() {
    grep -qE "$2" "$tmp/table.md"
    tap_ok $? "$1" || sed 's/^/# /' "$tmp/table.md"
}
has 'a target that is reached' \
    '^\| f32 products, to tuned BLAS \| 0.97 \|  \| [0-9.]+ \| [0-9.]+: gemm f32 8x8x8 \| reached'
has 'one that is missed' \
    '^\| widening casts, to PyTorch \| 1.7 \|  \| 0.00 \| .* \| missed'
has 'one that nobody measured' "^\\| AdamW.* \\| 2.4 \\| 2.0 \\|  \\|  \\| not measured"
has 'a row of times, the bound and peers' \
    '^\| gemm f16 8x8x8 \| .*ms \| .*GFLOP/s \| .*of its bound \| .*e?.* \(1e\+06 ms\) \| - \|$'
has 'a chapter for each number of threads' '^## 2 threads$'
grep -q '"roofs"' "$tmp/all.json" && grep -q '"of_bound"' "$tmp/all.json"
tap_ok $? 'all answers as JSON'
for size in m n k parameters tensors threads; do
    file=$tmp/growth/$size.svg
    [ "$(sed -n '1s/^<svg .*/svg/p;$s/^<.svg>$/end/p' "$file" |
        tr -d '\n')" = svgend ] && grep -q '<circle' "$file"
    tap_ok $? "time against $size is drawn"
done

# Errors that are found before anything is measured.
wrong() {
    text=$1
    shift
    python3 "$top/bench/compare" "$@" >"$tmp/out" 2>&1
    [ $? -eq 2 ] && grep -qF -e "$text" "$tmp/out"
    tap_ok $? "compare: $text" || sed 's/^/# /' "$tmp/out"
}
wrong 'no such suite: nosuite' nosuite
ours="--sesqui $builddir/sesqui --device reference --cases $tmp/cases"
wrong 'no program /nonexistent' --sesqui /nonexistent
wrong "no folder of peers $tmp/none" $ours --peers "$tmp/none"
wrong "no file of cases $tmp/none" $ours --cases "$tmp/none"
wrong "$tmp/no/table cannot be written" $ours --out "$tmp/no/table"
wrong "$tmp cannot be written" $ours --json "$tmp"
wrong "--rounds: invalid number value: '0'" $ours --rounds 0
wrong "--threads: invalid numbers value: '1,0'" $ours --threads 1,0
wrong "--seconds: invalid number value: '-1'" $ours --seconds -1

# When it is told to end, the programs that it has stopped end, too.
rm "$folder/onednn" "$folder/pytorch" "$folder/gone"
peer slow <<'END'
#!/bin/sh
while read -r case; do
    echo asked >>"$(dirname "$0")/asked"
    exec sleep 60
done
END
cat >"$tmp/sesqui" <<END
#!/bin/sh
echo \$\$ >'$tmp/stopped'
exec '$builddir/sesqui' "\$@"
END
chmod +x "$tmp/sesqui"
python3 "$top/bench/compare" --sesqui "$tmp/sesqui" --device reference \
    --cases "$tmp/cases" --seconds 0.001 --peers "$folder" >"$tmp/out" 2>&1 &
compare=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -e "$folder/asked" ] && break
    sleep 0.5
done
kill "$compare"
wait "$compare"
[ $? -eq 143 ] && [ -e "$folder/asked" ] &&
    ! kill -0 "$(cat "$tmp/stopped")" 2>/dev/null
tap_ok $? 'a comparison that is ended leaves no program behind' ||
    sed 's/^/# /' "$tmp/out"
tap_done 30
