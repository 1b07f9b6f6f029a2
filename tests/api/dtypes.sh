#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dtypes.sh - what autocast decides for every op of mlp, cnn, gpt and amp-loop is
# the dtypes of dtypes.txt, the same on every device; and what torch's lists
# would give, or a difference that dtypes.txt names.

. "${srcdir:-.}/tests/lint/tap.sh"

unset SSQ_DEVICE SSQ_IMPL
. "${srcdir:-.}/tests/api/idx.sh"
cat "$srcdir/COPYING" >"$tmp/text"
table=$srcdir/tests/api/dtypes.txt

# decisions PROGRAM DEVICE: each once, as dtypes.txt spells them.
decisions() {
    case $1 in
    mlp) set -- "$@" --units 8 --batch 300 --data "$tmp/data" ;;
    cnn) set -- "$@" --batch 300 --data "$tmp/data" ;;
    gpt) set -- "$@" --layers 1 --heads 2 --width 16 --block 8 --batch 2 \
        --steps 2 --warmup 1 --sample 0 --data "$tmp/text" ;;
    esac
    program=$1 device=$2
    shift 2
    SSQ_VERBOSE=autocast "$builddir/examples/$program/$program" --quiet \
        --device "$device" --epochs 1 --policy mixed_float16 "$@" \
        >"$tmp/out" 2>"$tmp/err" || cat "$tmp/out" >&2
    sed -n 's/ (made before)//g; s/ (left as it is)//g
        s/^sesqui: autocast: [^ ]*: \(.*: \)\{0,1\}\([a-z0-9_]* is .* under\)/\2/
        s/^\([a-z0-9_]*\) is [a-z0-9 ]* under [^:]*: /\1 /p' "$tmp/err" |
        sed "s/^/$program /" | LC_ALL=C sort -u
}

sed -n 's/^\([a-z].*[^ ]\)  *| .*/\1/p' "$table" >"$tmp/all"
devices="reference guard"
no_fast 'the same decisions on a fast device' || devices="$devices $fast"
for device in $devices; do
    for program in mlp cnn gpt amp-loop; do
        decisions $program "$device" >"$tmp/got"
        grep "^$program " "$tmp/all" | LC_ALL=C sort -u |
            diff - "$tmp/got" >"$tmp/out" 2>&1
        [ $? -eq 0 ] && [ -s "$tmp/got" ]
        tap_ok $? "$device: $program: $(grep -c '' "$tmp/got") decisions" ||
            sed 's/^/#   /' "$tmp/out"
    done
done

# The dtype by torch's list, beside the actual one.
${AWK:-awk} '
    !/ \| / { next }
    {
        split($0, half, / *\| /)
        split(half[1], part, "; ")
        n = split(half[2], word, " ")
        list = word[1]
        named = n > 1
        split(part[1], first, /[ ,]+/) # program, op, name, dtype
        if (list == "lower") want = "f16"
        else if (list == "fp32" || list == "fp32_set") want = "f32"
        else if (list == "promote") want = part[1] ~ / f32/ ? "f32" : "f16"
        else want = first[4]
        got = part[2]
        sub(/.* /, "", got)
        if (list !~ /^(lower|fp32|fp32_set|promote|none)$/)
            print $0 ": no list"
        else if ((want != got) != named)
            print $0 ": torch gives " want
        else if (list == "lower" && part[1] ~ / f32([,;]|$)/)
            print $0 ": an operand is float32"
        lines++
    }
    END { if (lines < 20) print lines + 0 " lines" }' "$table" >"$tmp/out"
tap_empty "torch gives the same, or the difference has a reason"
tap_done 10
