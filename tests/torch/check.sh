#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh - the PyTorch device beside PyTorch's CPU (make check-torch).
#
# SESQUI_TORCH_PYTHON is a Python with PyTorch, python3 otherwise. The extension
# is compiled in variant-torch of the build; SESQUI_TORCH_BUILT is a folder that
# has a compiled package sesqui_torch, and saves these minutes. The samples of
# OpInfo are compared with ops.txt. SESQUI_TORCH_DEVICE is cpu by default. The
# first float32 sample of each op that is native there also runs on opencl:0 and
# vulkan:0; SSQ_TEST_REQUIRE makes a missing device a failure.

python=${SESQUI_TORCH_PYTHON:-python3}
srcdir=$1 builddir=$2
here=$srcdir/tests/torch
work=$builddir/variant-torch

skip() {
    echo "SKIP: check-torch: $1"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

why=$("$python" -c 'import torch, setuptools, pytest, numpy' 2>&1) ||
    skip "$python: $(echo "$why" | tail -n 1): set SESQUI_TORCH_PYTHON"
version=$("$python" -c 'import torch; print(torch.__version__)' 2>/dev/null)

SESQUI_INCLUDE=$srcdir/include SESQUI_LIBRARY=$builddir/.libs/libsesqui.so.0
SESQUI_API=$builddir/api.json PYTHONDONTWRITEBYTECODE=1
SESQUI_TORCH_DEVICE=${SESQUI_TORCH_DEVICE:-cpu}
export SESQUI_INCLUDE SESQUI_LIBRARY SESQUI_API PYTHONDONTWRITEBYTECODE
export SESQUI_TORCH_DEVICE

# ---- the extension ----

built=${SESQUI_TORCH_BUILT-}
if [ -z "$built" ]; then
    built=$work/lib
    mkdir -p "$work"
    "$python" "$srcdir/python/torch-device/setup.py" -q build \
        --build-base "$work/build" --build-lib "$built" \
        >"$work/build.log" 2>&1 || {
        tail -n 20 "$work/build.log"
        echo "FAIL: the extension does not compile: $work/build.log"
        echo '0 passed, 1 failed, 0 skipped'
        exit 1
    }
fi
mkdir -p "$work"
PYTHONPATH=$built:$srcdir/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

# ---- tests ----

"$python" -m pytest -q -p no:cacheprovider --tb=short --color=no "$here" \
    >"$work/pytest.log" 2>&1
grep -E '^(FAILED|ERROR)' "$work/pytest.log"
sum=$(tail -n 1 "$work/pytest.log")
count_of() {
    echo "$sum" | tr -c 'a-z0-9\n' '\n' | grep -v '^$' |
        awk -v word="$1" '$0 == word { print last } { last = $0 }'
}
passed=$(count_of passed) failed=$(count_of failed) errors=$(count_of errors)
skipped=$(count_of skipped)
[ -n "$passed$failed$errors" ] || {
    tail -n 20 "$work/pytest.log"
    errors=1
}

"$python" "$here/opinfo.py" --all --expect "$here/ops.txt" \
    >"$work/opinfo.log" 2>&1
grep '^# ' "$work/opinfo.log"
grep -E '^(float32|float16|bfloat16): ' "$work/opinfo.log" |
    sed 's/^/OpInfo, /' >"$work/opinfo.sum"
cat "$work/opinfo.sum"
[ "$(grep -c '' "$work/opinfo.sum")" -eq 3 ] || {
    tail -n 20 "$work/opinfo.log"
    echo 'OpInfo, 0 passed, 1 failed' >>"$work/opinfo.sum"
}

# ---- the first sample of each op on other devices ----

# The line of sums of a log. $1: the log; $2: the words before it.
sums_of() {
    grep '^# ' "$1"
    grep '^float32: ' "$1" | sed "s/^/$2, first samples, /" >"$1.sum"
    [ -s "$1.sum" ] || {
        tail -n 20 "$1"
        echo "$2, first samples, 0 passed, 1 failed" >"$1.sum"
    }
    cat "$1.sum"
    cat "$1.sum" >>"$work/opinfo.sum"
}

# Each op that is native on cpu must be native on a device with a driver, with
# the same bounds. $1: the device.
first_samples() {
    log=$work/opinfo-${1%:*}.log
    if ! SESQUI_TORCH_DEVICE=$1 "$python" -c "import torch, sesqui_torch
torch.ones(1, device='sesqui').item()" >"$log" 2>&1; then
        case ,${SSQ_TEST_REQUIRE-}, in
        *,"${1%:*}",*) sums_of "$log" "$1" ;;
        *)
            echo "SKIP: check-torch: $1: $(tail -n 1 "$log")"
            skipped=$((${skipped:-0} + 1))
            ;;
        esac
        return
    fi
    SESQUI_TORCH_DEVICE=$1 "$python" "$here/opinfo.py" --samples 1 \
        --dtypes float32 --expect "$work/first.txt" >"$log" 2>&1
    sums_of "$log" "$1"
}

rm -f "$work/first.txt"
"$python" "$here/opinfo.py" --samples 1 --dtypes float32 \
    --write "$work/first.txt" >"$work/opinfo-first.log" 2>&1
for device in opencl:0 vulkan:0; do
    [ "$device" = "$SESQUI_TORCH_DEVICE" ] || first_samples "$device"
done
set -- $(awk '{ gsub(",", "")
    for (i = 2; i <= NF; i++) {
        if ($i == "passed") p += $(i - 1)
        if ($i == "failed") f += $(i - 1)
    } } END { print p + 0, f + 0 }' "$work/opinfo.sum")
echo "PyTorch $version on $SESQUI_TORCH_DEVICE; the table is $work/opinfo.log"
passed=$((${passed:-0} + $1))
failed=$((${failed:-0} + ${errors:-0} + $2))
echo "$passed passed, $failed failed, ${skipped:-0} skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
