#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh - runs the tests of the Python package with the library of this
# build. Each test is a case. Tests with PyTorch and JAX need these packages.

. "${srcdir:-.}/tests/lint/tap.sh"

# The first Python that has what the tests need.
find_python() {
    for python in "${SSQ_TEST_PYTHON:-python3}" python3 /usr/bin/python3; do
        "$python" -c 'import numpy, pytest' 2>"$tmp/why" && return
    done
    return 1
}

find_python || {
    tap_missing python "$(tail -n 1 "$tmp/why"): install python3-numpy and \
python3-pytest" 'the tests of the Python package'
    tap_done 1
    exit
}

PYTHONPATH=$srcdir/python SESQUI_LIBRARY=$builddir/.libs/libsesqui.so.0
SESQUI_API=$builddir/api.json SESQUI_TOOL=$builddir/sesqui
PYTHONDONTWRITEBYTECODE=1
# make compiles it if it finds Python's headers
[ ! -e "$builddir/python/_exchange.abi3.so" ] ||
    export SESQUI_EXCHANGE="$builddir/python/_exchange.abi3.so"
[ ! -e "$builddir/cuda.la" ] ||
    export SESQUI_FAKECUDA="$builddir/tests/fakecuda"
export PYTHONPATH SESQUI_LIBRARY SESQUI_API SESQUI_TOOL PYTHONDONTWRITEBYTECODE
"$python" -m pytest -p no:cacheprovider -v --tb=short --color=no \
    --basetemp="$tmp/pytest" "$srcdir/python/tests" >"$tmp/said" 2>&1
status=$?
# "tests/test_x.py::test_y[cpu] PASSED [ 7%]" becomes "ok 1 - test_x test_y[cpu]".
awk '
/::.* (PASSED|FAILED|ERROR|SKIPPED)/ {
    name = $1
    sub(/.*tests\//, "", name)
    sub(/\.py::/, " ", name)
    gsub(/#/, "", name)
    if (/ SKIPPED/) {
        skipped++
        next
    }
    printf "%sok %d - %s\n", (/ PASSED/ ? "" : "not "), ++n, name
}
END { print n + 0 >count }' count="$tmp/count" "$tmp/said"
cases=$(cat "$tmp/count")
[ "$status" -eq 0 ] || sed 's/^/# /' "$tmp/said" | grep -v PASSED | tail -n 80
tap_ok "$status" "pytest: $(tail -n 1 "$tmp/said" | tr -d =)"
[ -n "${SESQUI_EXCHANGE-}" ] ||
    tap_missing python 'it was not compiled: install libpython3-dev' \
        "DLPack's exchange API, test_exchange.py"
tap_done 300
