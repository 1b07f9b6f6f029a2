#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage.sh - what `sesqui` says where it is told nonsense, has nothing to read
# or cannot write: it ends with the code of sesqui(1) and a text that names why.

. "${srcdir:-.}/tests/lint/tap.sh"

XDG_CACHE_HOME=$tmp/cache SSQ_MODULE_PATH=
export XDG_CACHE_HOME SSQ_MODULE_PATH
unset SSQ_CACHE SSQ_NUM_THREADS SSQ_IMPL SSQ_DEVICE

# says STATUS TEXT WORD...: the status, and the text in the complaint.
says() {
    want=$1 text=$2
    shift 2
    "$builddir/sesqui" "$@" </dev/null >"$tmp/out" 2>"$tmp/said"
    [ $? -eq "$want" ] && grep -qF -e "$text" "$tmp/said"
}

# wrong TEXT WORD...: wrong usage, which nothing but the text is said of.
wrong() {
    text=$1
    shift
    says 2 "$text" "$@" && [ ! -s "$tmp/out" ]
    tap_ok $? "$*: $text" || sed 's/^/# /' "$tmp/said" "$tmp/out"
}

for n in 0 -1 x 1e3 ' 2' +2 1025 4294967297 99999999999999999999; do
    wrong "not a number of threads: $n" bench gemm --list --threads "$n"
done
for n in inf nan 1e308 1e7 0x10 ' 2' '' -; do
    [ -n "$n" ] && wrong "not a number of seconds above 0, at most 1e6: $n" \
        bench gemm --list --seconds "$n"
done
for n in 0 -1 x ' 2' 4294967296; do
    wrong "not a number above 0: $n" bench --cases "$n"
done
wrong 'nothing to be timed is named nonsense' bench --op nonsense
wrong 'nothing to be timed is named gemm' bench latency --op gemm
wrong 'nothing to be timed is named softmax' bench gemm --list --op softmax
wrong 'either --json or --csv' bench gemm --json --csv
wrong 'no --csv and no --op' bench - --csv
wrong 'no --csv and no --op' bench - --op gemm
wrong 'no such option: guard' certify reference guard
wrong '--clear forgets all shapes, not one: 8,8,8' tune 8,8,8 --clear

# The same names everywhere; one that is not known is answered with all of them.
for command in verify certify support bench; do
    wrong 'is named gemn; did you mean gemm?' $command --op gemn
    grep -qE '(^| )relu( |$)' "$tmp/said" && grep -qE '(^| )unary( |$)' "$tmp/said"
    tap_ok $? "$command: the names are listed" || sed 's/^/# /' "$tmp/said"
done
wrong 'did you mean relu?' bench memory --op rely
"$builddir/sesqui" help ops >"$tmp/names" 2>&1
tap_ok $? "$(grep -c '' "$tmp/names") names" || sed 's/^/# /' "$tmp/names"
sort -u "$tmp/names" | cmp -s - "$tmp/names" && grep -qx relu "$tmp/names" &&
    grep -qx unary "$tmp/names" && grep -qx gemm_shapes "$tmp/names"
tap_ok $? 'sorted, each once: functions, ops and tables'
# selects NAME TABLE...: the tables of support, which all commands share.
selects() {
    name=$1
    shift
    "$builddir/sesqui" support --device reference --op "$name" |
        awk 'NF == 12 && $1 != "device" { print $2 }' | tr '\n' ' ' >"$tmp/out"
    [ "$(cat "$tmp/out")" = "$* " ]
    tap_ok $? "$name: $*" || sed 's/^/# /' "$tmp/out"
}
selects relu unary
selects unary unary
selects relu_backward unary_backward
selects batch_norm batch_norm
selects channel_norm batch_norm group_norm
selects conv2d_backward conv conv_backward conv_transpose slide_misuse
# fine WORD...: it succeeds, and complains of nothing.
fine() {
    "$builddir/sesqui" "$@" </dev/null >"$tmp/out" 2>"$tmp/said" &&
        [ ! -s "$tmp/said" ]
}
fine verify --device reference --op silu &&
    grep -qx '# table 1 of 1: unary' "$tmp/out" &&
    grep -q 'reference: silu f32' "$tmp/out"
tap_ok $? 'verify --op silu says which table it runs, of how many'

# Help, and the version.
for word in --help -h help; do
    fine $word && grep -q '^usage: sesqui COMMAND' "$tmp/out"
    tap_ok $? "$word"
done
for command in devices verify certify support report bench tune; do
    fine help $command && grep -q "^usage: sesqui $command" "$tmp/out" &&
        cp "$tmp/out" "$tmp/help" && fine $command -h &&
        cmp -s "$tmp/help" "$tmp/out" && ! grep -q -e --child "$tmp/out"
    tap_ok $? "help $command, $command -h: $(grep -c '^  --' "$tmp/out") options"
done
wrong 'no such command: nothing; there are devices, verify,' help nothing
wrong 'no such command: nothing; there are devices, verify,' nothing
wrong 'not also tune' help bench tune
fine -V && grep -qx 'sesqui [0-9.]*' "$tmp/out" &&
    grep -qE '^commit    ([0-9a-f]{12}(\+changes)?|unknown)$' "$tmp/out" &&
    grep -qE '^built in  .*reference' "$tmp/out" && grep -q '^modules' "$tmp/out" &&
    grep -q '^compiler' "$tmp/out" && grep -q '^options' "$tmp/out" &&
    cp "$tmp/out" "$tmp/version" && fine --version &&
    cmp -s "$tmp/version" "$tmp/out"
tap_ok $? '-V, --version: commit, modules, compiler, options' ||
    sed 's/^/# /' "$tmp/out"
sed -n 's/^#define COMMIT "\(.*\)"$/commit    \1/p' "$builddir/tools/commit.h" \
    >"$tmp/out"
[ -s "$tmp/out" ] && grep -qxF -f "$tmp/out" "$tmp/version"
tap_ok $? "the commit is that of the build: $(cat "$tmp/out")"

# Where that comes from: git, or the file of a release.
commit() {
    sh "$srcdir/build-aux/commit.sh" "$1" "$tmp/commit.h" &&
        sed -n 's/^#define COMMIT "\(.*\)"$/\1/p' "$tmp/commit.h"
}
mkdir "$tmp/source"
[ "$(commit "$tmp/source")" = unknown ]
tap_ok $? 'of a source without git it is unknown'
if command -v git >"$tmp/out"; then
    (cd "$tmp/source" && : >file && git init -q . && git add file &&
        git -c user.name=a -c user.email=a@b commit -qm one) >"$tmp/out" 2>&1
    hash=$(git -C "$tmp/source" rev-parse --short=12 HEAD)
    [ -n "$hash" ] && [ "$(commit "$tmp/source")" = "$hash" ] &&
        echo changed >"$tmp/source/file" &&
        [ "$(commit "$tmp/source")" = "$hash+changes" ]
    tap_ok $? "git's is $hash, and changes are told" ||
        sed 's/^/# /' "$tmp/out" "$tmp/commit.h"
else
    tap_skip 'no git' 'the commit of git'
fi
echo 0123456789ab >"$tmp/source/commit.txt"
[ "$(commit "$tmp/source")" = 0123456789ab ]
tap_ok $? 'a release has it in a file'

# Bytes that are not UTF-8 are escaped; UTF-8 is printed as it is.
printf 'gemm f32 \303\244 \377 \303( \355\240\200 \360\237\230\200"\n' |
    "$builddir/sesqui" bench - --device reference >"$tmp/out"
printf '"case": "gemm f32 \303\244 \\ufffd \\ufffd( \\ufffd\\ufffd\\ufffd \360\237\230\200\\"",' \
    >"$tmp/want"
LC_ALL=C grep -qF -f "$tmp/want" "$tmp/out"
tap_ok $? 'bytes that are not UTF-8 become U+FFFD' || sed 's/^/# /' "$tmp/out"
"$builddir/sesqui" devices --json >"$tmp/out" 2>&1 &&
    [ "$(grep -cE '"f16": \{"storage": "(native|emulated|none)", "arithmetic": "(native|emulated|none)", "matrix": "(native|emulated|none)"\}, "bf16": \{"storage"' "$tmp/out")" -ge 3 ]
tap_ok $? 'devices --json has fields for what a device can do' ||
    sed 's/^/# /' "$tmp/out"

# Files that cannot be read or written; the commands are short ones.
cat >"$tmp/cases" <<'END2'
gemm f32 4x4x4
END2
bench='bench - --device reference --seconds 0.001'
"$builddir/sesqui" $bench <"$tmp" >"$tmp/out" 2>"$tmp/said"
[ $? -eq 1 ] && grep -q 'standard input cannot be read' "$tmp/said"
tap_ok $? 'a folder as standard input' || sed 's/^/# /' "$tmp/said"
"$builddir/sesqui" $bench <&- >"$tmp/out" 2>"$tmp/said"
[ $? -eq 1 ] && grep -q 'standard input cannot be read' "$tmp/said"
tap_ok $? 'no standard input' || sed 's/^/# /' "$tmp/said"
for command in --version --help "$bench" 'tune 8,8,8 --device cpu' \
    'bench gemm --list'; do
    if [ -c /dev/full ]; then
        "$builddir/sesqui" $command <"$tmp/cases" >/dev/full 2>"$tmp/said"
        [ $? -eq 1 ] && grep -q 'output cannot be written' "$tmp/said"
        tap_ok $? "$command: the disk is full" || sed 's/^/# /' "$tmp/said"
    else
        tap_skip "$command: the disk is full" 'no /dev/full'
    fi
    "$builddir/sesqui" $command <"$tmp/cases" >&- 2>"$tmp/said"
    [ $? -eq 1 ] && grep -q 'output cannot be written' "$tmp/said"
    tap_ok $? "$command: no standard output" || sed 's/^/# /' "$tmp/said"
done
grep -r 'x 8 batch' "$tmp/cache" >"$tmp/out"
tap_empty 'what is printed goes to no file of the cache'

# A line is one case, however long, and has one answer.
awk 'BEGIN { printf "gemm f32 "; for (i = 0; i < 5000; i++) printf "4";
    print "x1x1"; print "gemm f32 4x4x4" }' |
    "$builddir/sesqui" $bench >"$tmp/out" 2>&1
[ "$(grep -c '' "$tmp/out")" -eq 2 ] &&
    [ "$(grep -c '"skipped": "no case' "$tmp/out")" -eq 1 ]
tap_ok $? 'a long line has one answer'

mkdir -p "$tmp/cache/sesqui" && : >"$tmp/file"
XDG_CACHE_HOME=$tmp/file
tap_run 'a cache that cannot be written is named' \
    says 1 "$tmp/file/sesqui/gemm-cpu-" tune 8,8,8 --device cpu

tap_done 81
