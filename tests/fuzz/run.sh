#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - fuzz at random, one target after the other: make fuzz.
#
# usage: run.sh BUILD SECONDS TARGETS DEVICES FLAGS
# guard runs with the sanitizers of BUILD/variant-fuzz, other devices with
# BUILD's own library. New inputs of earlier runs are used first.

build=$1 seconds=$2 targets=$3 devices=$4 flags=$5
at=$build/variant-fuzz
passed=0 failed=0 skipped=0
SSQ_FUZZ_COUNTS=1 && export SSQ_FUZZ_COUNTS
ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS

# one TARGET DEVICE: sets skipped, failed or passed.
one() {
    target=$1 device=$2 kind=plain from=$build more=
    [ "$device" != guard ] || kind=sanitized from=$at more=$flags
    FUZZ_CFLAGS=$more sh "$srcdir/tests/fuzz/compile.sh" "$at/$kind" "$from" \
        "$target" >"$at/$target.compile" 2>&1
    case $? in
    0) ;;
    77)
        echo "  SKIP     $target: $(head -n 1 "$at/$target.compile")"
        skipped=$((skipped + 1))
        return
        ;;
    *)
        cat "$at/$target.compile"
        failed=$((failed + 1))
        return
        ;;
    esac
    mkdir -p "$at/corpus/$target" "$at/crashes"
    echo "  FUZZ     $target on $device, $seconds seconds"
    log=$at/$target-$device.log
    # Drivers leak, and are not what the sanitizers look at.
    modules=$SSQ_MODULE_PATH
    [ "$device" != guard ] || modules=
    SSQ_MODULE_PATH=$modules SSQ_FUZZ_DEVICE=$device "$at/$kind/$target" -max_total_time="$seconds" \
        -max_len=1500 -len_control=0 -timeout=60 \
        -artifact_prefix="$at/crashes/$target-$device-" \
        "$at/corpus/$target" "$srcdir/tests/fuzz/corpus/$target" >"$log" 2>&1
    status=$?
    sed -n 's/^fuzz: \(.* programs\)/  \1/p; s/^Done/  Done/p' "$log"
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    grep -E '^fuzz:|runtime error|ERROR|^SUMMARY' "$log" | head -n 10
    crash=$(sed -n 's/.*Test unit written to //p' "$log" | head -n 1)
    echo "  again:   SSQ_FUZZ_DEVICE=$device SSQ_FUZZ_TRACE=1 SSQ_CACHE=0" \
        "SSQ_MODULE_PATH=$modules $at/$kind/$target $crash"
}

for target in $targets; do
    for device in $devices; do
        case $target in
        batches | calls | tapes) ;;
        *) [ "$device" = "${devices%% *}" ] || continue ;;
        esac
        one "$target" "$device"
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
