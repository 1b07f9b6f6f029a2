#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - how many faults the tests find: each line of faults.txt is put into a
# copy of the source, which is built and tested.
#
# usage: run.sh SRCDIR BUILDDIR WORK [LINES]      by make check-mutants
#
# BUILDDIR has passed make check: its times say which tests are short. The tests
# of the folder that has the fault run first, then the others, shortest first.
# LINES is a pattern for the lines of faults.txt that are wanted. A fault is
# found as soon as one test fails, and the rest is not run; with SSQ_TEST_FULL=1
# all tests run and each that fails is named. The results are in WORK/found.txt:
# keep them as tests/mutants/found.txt, which make times reads.
#
# WORK/source is copied once. Remove WORK after any other change of SRCDIR.
set -u
src=$1 build=$2 work=$3 lines=${4-.}
export LC_ALL=C
tab=$(printf '\t')
jobs=$(nproc 2>/dev/null || echo 1)

die() {
    echo "mutants: $*" >&2
    exit 1
}

# The faults that are wanted, a line each.
faults() {
    grep -v '^#' "$src/tests/mutants/faults.txt" | grep -e "$lines"
}

# The copy, built once; SRCDIR's own files stay as they are.
prepare() {
    mkdir -p "$work/build" || exit 1
    [ -f "$work/source/configure" ] || {
        mkdir -p "$work/source"
        (cd "$src" && find . \( -name .git -o -path ./build -o \
            -name 'variant-*' \) -prune -o -type f -print |
            tar -cf - -T -) | tar -xf - -C "$work/source"
    }
    # A run that was stopped has left its fault there.
    grep -v '^#' "$src/tests/mutants/faults.txt" | cut -f 1 |
        while read -r at; do
            cmp -s "$src/$at" "$work/source/$at" ||
                cp "$src/$at" "$work/source/$at" || exit 1
        done || die "cannot restore $work/source"
    [ -f "$work/build/Makefile" ] || (cd "$work/build" &&
        eval "../source/configure --quiet $("$build/config.status" --config)") \
        >"$work/configure.log" 2>&1 || die "see $work/configure.log"
    make -C "$work/build" -j"$jobs" all >"$work/build.log" 2>&1 &&
        make -C "$work/build" -j"$jobs" check TESTS= >>"$work/build.log" 2>&1 ||
        die "see $work/build.log"
}

# The tests, the shortest first: .log files as TESTS of make. lint/faults is no
# test of the library: it fails because a fault was put in.
ordered_tests() {
    make -C "$build" -s times | awk '$3 != "tests/lint/faults" {
        print $1, $3 }' | sort -n |
        sed 's/^[^ ]* //' | while read -r test; do
        for name in "$test.sh" "$test.table"; do
            case $name in
            *.sh) [ -f "$src/$name" ] && echo "$name" && continue 2 ;;
            *) [ -f "$build/$name" ] && echo "$name" && continue 2 ;;
            esac
        done
        echo "$test"
    done
}

# The tests, those first whose names, or folders, begin as a folder of file $1.
near_first() {
    near="/(fake)?($(dirname "$1" | tr / '|'))"
    echo "$tests" | tr ' ' '\n' | grep -E "$near"
    echo "$tests" | tr ' ' '\n' | grep -vE "$near"
}

# Run the tests until one fails (all of them with SSQ_TEST_FULL=1); print the
# names of the tests that failed.
failing_tests() {
    find "$work/build/tests" -name '*.trs' -exec rm -f {} +
    : >"$work/check.log"
    setsid make -C "$work/build" -k -j"$jobs" check \
        TESTS="$(near_first "$file" | tr '\n' ' ')" \
        </dev/null >"$work/check.log" 2>&1 & # mpiexec reads what it can
    maker=$!
    while kill -0 $maker 2>/dev/null; do
        sleep 1
        [ "${SSQ_TEST_FULL-}" != 1 ] || continue
        grep -qE '^(FAIL|ERROR): ' "$work/check.log" || continue
        kill -- -$maker
    done
    wait $maker 2>/dev/null
    sed -nE 's/^(FAIL|ERROR): ([^ ]*).*/\2/p' "$work/check.log" | sort -u |
        tr '\n' ' '
}

# One fault; its line is in $file, $change and $what.
try() {
    at=$work/source/$file
    sed -E "$change" "$src/$file" >"$at"
    changed=$(diff "$src/$file" "$at" | grep -c '^>')
    [ "$changed" = 1 ] ||
        echo "mutants: $file: $changed lines differ: $what" >&2
    began=$(date +%s)
    if make -C "$work/build" -j"$jobs" all >"$work/build.log" 2>&1 &&
        make -C "$work/build" -j"$jobs" check TESTS= >>"$work/build.log" 2>&1
    then
        by=$(failing_tests)
    else
        by='the-compiler '
    fi
    echo "${by:-none }$tab$what$tab$(($(date +%s) - began)) s"
    cp "$src/$file" "$at"
}

faults >/dev/null || die "no line of faults.txt has '$lines'"
prepare
tests=$(ordered_tests | tr '\n' ' ')
case ${SSQ_TEST_FULL-} in
1) echo '# every test that failed' ;;
*) echo '# only the first test that failed' ;;
esac >"$work/found.txt"
faults | while IFS=$tab read -r file change what; do
    try | tee -a "$work/found.txt"
done
total=$(grep -vc '^#' "$work/found.txt")
missed=$(grep -c '^none ' "$work/found.txt")
echo "$((total - missed)) passed, $missed failed, 0 skipped"
[ "$missed" -eq 0 ]
