#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - everything that a machine with a GPU can say of the library, as one
# page of Markdown.
#
# usage: tests/gpu/run.sh [-o DIR] [-j N] [STAGE...]
#
# From an unpacked tarball (make dist), with make, a C compiler and the GPU's
# driver; other installed tools are used: nvcc, clang, OpenCL's and Vulkan's
# drivers, compute-sanitizer, PyTorch. Stages, all of them where none is named:
#
#     build     configure and make, in DIR/build
#     check     make check, with the GPU's backends required
#     verify    every device's certificate, and all tables
#     sanitize  compute-sanitizer's memcheck and racecheck on some tables
#     bench     the workloads of bench.c on every GPU, and by PyTorch
#     report    DIR/report.md of the files that the other stages left in DIR
#
# Each may be repeated alone, and takes some minutes. DIR is gpu-report here.
# GPU_DEVICES="cuda:0 vulkan:1" names the devices instead of looking for them,
# and GPU_BRIEF=1 makes all sizes tiny, to try the script itself.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
out=$PWD/gpu-report jobs=$(nproc 2>/dev/null || echo 2)
while getopts o:j: option; do
    case $option in
    o) out=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
build=${GPU_BUILD:-$out/build}
failed=0

say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# keep NAME COMMAND...: its output is DIR/NAME, its status in DIR/status.
keep() {
    file=$1
    shift
    began=$(date +%s)
    "$@" >"$out/$file" 2>&1
    code=$?
    grep -v "^$file " "$out/status" >"$out/status.new" 2>/dev/null
    echo "$file $code $(($(date +%s) - began))" >>"$out/status.new"
    mv "$out/status.new" "$out/status"
    say "$file: status $code"
    [ $code -eq 0 ] || failed=1
    return $code
}

# The devices that are GPUs: cuda's all; of the others all but processors.
devices() {
    if [ -n "${GPU_DEVICES-}" ]; then
        echo "$GPU_DEVICES"
        return
    fi
    "$build/sesqui" devices 2>/dev/null |
        grep -iv 'llvmpipe\|lavapipe\|portable computing\|not available' |
        sed -n 's/^\(\(cuda\|vulkan\|opencl\):[0-9]*\) .*/\1/p' | tr '\n' ' '
}

# ---- stages ----

cuda_dir() {
    for dir in "${CUDA_DIR-}" /usr/local/cuda \
        "$(dirname "$(dirname "$(command -v nvcc || echo /no/no)")")"; do
        if [ -f "$dir/include/cuda.h" ]; then
            echo "--with-cuda=$dir"
            return
        fi
    done
}

stage_build() {
    mkdir -p "$build"
    # shellcheck disable=SC2046
    (cd "$build" &&
        keep configure.txt "$here/configure" --quiet $(cuda_dir)) &&
        keep make.txt make -C "$build" -s -j "$jobs" &&
        keep make-bench.txt make -C "$build" -s -j "$jobs" tests/gpu/bench
}

stage_check() {
    need=reference,guard
    for device in $(devices); do
        case ,$need, in
        *,"${device%:*}",*) ;;
        *) need=$need,${device%:*} ;;
        esac
    done
    SSQ_TEST_REQUIRE=$need
    export SSQ_TEST_REQUIRE
    keep check.txt make -C "$build" -k -j "$jobs" check
    keep tally.txt make -C "$build" -s tally
}

stage_verify() {
    for device in $(devices); do
        name=$(echo "$device" | tr : -)
        keep "certify-$name.txt" "$build/sesqui" certify "$device" \
            ${GPU_BRIEF:+--op fill}
        keep "verify-$name.txt" "$build/sesqui" verify --device "$device" \
            ${GPU_BRIEF:+--op fill}
    done
}

stage_sanitize() {
    tool=$(command -v compute-sanitizer) || {
        say 'no compute-sanitizer: not run'
        return
    }
    tables='gemm reduce softmax scatter_add optimizer random'
    [ -z "${GPU_BRIEF-}" ] || tables=fill
    for table in $tables; do
        for check in memcheck racecheck; do
            keep "$check-$table.txt" "$tool" --tool "$check" \
                --error-exitcode 99 "$build/sesqui" verify --device cuda:0 \
                --op "$table"
        done
    done
}

stage_bench() {
    for device in $(devices); do
        name=$(echo "$device" | tr : -)
        keep "$name.tsv" "$build/tests/gpu/bench" "$device" \
            ${GPU_BRIEF:+--brief}
        keep "bench-$name.txt" "$build/sesqui" bench --device "$device" \
            --cases 2 --seconds "${GPU_SECONDS:-1}" ${GPU_BRIEF:+--op fill}
    done
    if python3 -c 'import torch' 2>/dev/null; then
        keep torch.tsv python3 "$here/tests/gpu/peer.py" \
            ${GPU_BRIEF:+--brief --cpu}
    else
        say 'no PyTorch: no ratios to it'
    fi
}

# A value of the first GPU that nvidia-smi tells, or nothing.
smi() {
    nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1
}

machine() {
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
        head -n 1), $(nproc) threads"
    echo "- system: $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)," \
        "Linux $(uname -r)"
    [ -z "$(smi name)" ] ||
        echo "- GPU: $(smi name), driver $(smi driver_version)," \
            "power limit $(smi power.limit), clocks" \
            "$(smi clocks.max.sm), memory $(smi clocks.max.memory)"
    for device in $(devices); do
        echo "- \`$device\`: $("$build/sesqui" devices |
            sed -n "s/^$device *//p")"
    done
    torch=$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null)
    [ -z "$torch" ] || echo "- PyTorch: $torch"
}

stage_report() {
    files=
    for f in "$out"/*.tsv; do
        [ -f "$f" ] || continue
        name=$(basename "$f" .tsv)
        files="$files $(echo "$name" | sed 's/-\([0-9]*\)$/:\1/')=$f"
    done
    {
        echo '# On a GPU'
        echo
        machine
        echo
        echo '## Stages'
        echo
        echo '| output | status | seconds | last line |'
        echo '|---|---|---|---|'
        while read -r file code seconds; do
            echo "| $file | $code | $seconds |" \
                "$(tail -n 1 "$out/$file" | cut -c 1-100 | tr '|' '/') |"
        done <"$out/status"
        echo
        echo '## Targets'
        echo
        echo 'A share, or how many times as fast; each against what was' \
            'measured in this run.'
        echo
        awk -v files="$files" -v part=targets -f "$here/tests/gpu/report.awk"
        echo
        echo '## Workloads'
        echo
        echo 'Seconds are the median of five batches. Of what is bound by' \
            'memory: its share of the same'
        echo "device's copy of 512 MiB in this run; then how many times as" \
            'fast as PyTorch.'
        echo
        awk -v files="$files" -v part=workloads \
            -f "$here/tests/gpu/report.awk"
    } >"$out/report.md"
    say "$out/report.md"
}

for stage in ${*:-build check verify sanitize bench report}; do
    case $stage in
    build | check | verify | sanitize | bench | report) ;;
    *)
        say "no stage $stage"
        exit 2
        ;;
    esac
    say "$stage"
    stage_"$stage" || failed=1
    [ "$stage" != build ] || [ "$failed" -eq 0 ] || exit 1
done
exit $failed
