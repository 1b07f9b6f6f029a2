# SPDX-License-Identifier: Apache-2.0
# target.sh - what the tests of fuzz targets share; read with ".".

. "${srcdir:-.}/tests/lint/tap.sh"

# required NAME: may it not be missing?
required() {
    case ",${SSQ_TEST_REQUIRE-}," in
    *",$1,"*) return 0 ;;
    esac
    return 1
}

# fuzz_build TARGET: into $tmp; or skip the test, and end it.
fuzz_build() {
    sh "$srcdir/tests/fuzz/compile.sh" "$tmp/fuzz" "$builddir" "$1" \
        >"$tmp/out" 2>&1
    status=$?
    if [ "$status" -eq 77 ] && ! required fuzz; then
        tap_skip "$(head -n 1 "$tmp/out")" "the target is built"
        tap_done 1
        exit
    fi
    tap_ok "$status" 'the target is built' && return
    sed 's/^/#   /' "$tmp/out" | head -n 40
    tap_done 1
    exit
}

# fuzz_replay TARGET DEVICE [FILES]: every file of the corpus, or some: a driver
# compiles kernels, a second for each program.
fuzz_replay() {
    set -- "$1" "$2" "$srcdir/tests/fuzz/corpus/$1"/${3-*}
    name="$1: the corpus on $2" device=$2 target=$1
    shift 2
    ( SSQ_FUZZ_DEVICE=$device && export SSQ_FUZZ_DEVICE && cd "$tmp" &&
        exec "$tmp/fuzz/$target" -artifact_prefix="$tmp/" "$@" ) \
        >"$tmp/out" 2>&1
    status=$?
    if grep -q '^fuzz: open: SSQ_ERR_NOT_FOUND' "$tmp/out" &&
        ! required "$device"; then
        tap_skip "there is no $device" "$name: $# programs"
        return
    fi
    tap_ok "$status" "$name: $# programs" || fuzz_explain
}

# fuzz_runs TARGET RUNS: the same programs each time.
fuzz_runs() {
    mkdir -p "$tmp/made"
    ( cd "$tmp" && SSQ_MODULE_PATH='' SSQ_FUZZ_COUNTS=1 "$tmp/fuzz/$1" -seed=1 -runs="$2" \
        -max_len=1500 -len_control=0 -artifact_prefix="$tmp/" "$tmp/made" \
        "$srcdir/tests/fuzz/corpus/$1" ) >"$tmp/out" 2>&1
    tap_ok $? "$1: $2 runs from one seed" || fuzz_explain
    sed -n 's/^fuzz: \(.* programs\)/# \1/p' "$tmp/out"
}

# The failure, and its input as base64: it is gone with the directory.
fuzz_explain() {
    grep -E '^fuzz:|runtime error|ERROR|^SUMMARY|^Running|^Base64' "$tmp/out" |
        tail -n 12 | cut -c 1-2000 | sed 's/^/#   /'
}
