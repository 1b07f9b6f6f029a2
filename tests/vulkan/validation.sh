#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# validation.sh - nothing that is asked of Vulkan is wrong, or lacks a barrier:
# the Khronos validation layer, with synchronisation validation, has nothing to
# say about training, copies, graphs, events and some of the tables, or with
# SSQ_VALIDATE=all every table; and it does about a seeded missing barrier.

. "${srcdir:-.}/tests/lint/tap.sh"

validation=$builddir/tests/vulkan/validation
manifest=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
if ! [ -f "$manifest" ] || ! "$builddir/sesqui" devices 2>/dev/null |
    grep -q '^vulkan:0  [^n]'; then
    tap_missing vulkan 'no validation layer, or no vulkan:0' 'valid Vulkan'
    tap_done 0
    exit 0
fi

# The layer reads these from the file; one switch of it has a number a line.
cat >"$tmp/settings.txt" <<END
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,perf
khronos_validation.log_filename = $tmp/log
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.enable_message_limit = false
END
VK_LAYER_SETTINGS_PATH=$tmp/settings.txt
export VK_LAYER_SETTINGS_PATH
under() { VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation "$@"; }

# quiet NAME: the log has no message.
quiet() {
    grep -E 'Validation|VUID|UNASSIGNED|SYNC-' "$tmp/log" 2>/dev/null |
        cut -c 1-600 >"$tmp/messages"
    sort "$tmp/messages" | uniq -c | sort -rn | head -20 >"$tmp/out"
    tap_empty "$1: no message"
    rm -f "$tmp/log"
}

tap_run 'without it the layer is not there' test 1 -eq "$(
    "$validation" layer >/dev/null 2>&1
    echo $?
)"
under "$validation" layer >/dev/null 2>&1
tap_ok $? 'with it the layer is there'
rm -f "$tmp/log"

under "$validation" seed >"$tmp/seed" 2>&1
tap_ok $? 'a copy without its barrier runs'
grep -q 'SYNC-HAZARD-READ-AFTER-WRITE' "$tmp/log"
tap_ok $? 'and is reported'
rm -f "$tmp/log"

under "$validation" run >"$tmp/cases" 2>&1
tap_ok $? 'training, copies, events and queues run'
grep '^not ok' "$tmp/cases" >"$tmp/out"
tap_empty "and are right: $(grep -c '^ok' "$tmp/cases") of them"
quiet 'training, copies, events and queues'
under env SSQ_VULKAN_TIMELINE=0 "$validation" run >"$tmp/cases" 2>&1
tap_ok $? 'with fences too'
quiet 'with fences'

# What launches with empty, strided and padded operands, sums in several
# launches and shared memory.
tables='gather scatter_add gemm_exact softmax conv_transpose'
[ "${SSQ_VALIDATE-}" = all ] && tables=all
for table in $tables; do
    only="--op $table"
    [ "$table" = all ] && only=
    # shellcheck disable=SC2086
    under "$builddir/sesqui" verify --device vulkan:0 $only >"$tmp/cases" 2>&1
    tap_ok $? "table: $table"
    grep '^not ok' "$tmp/cases" >"$tmp/out"
    n=$(grep -c '^ok' "$tmp/cases")
    tap_empty "table: $table: $n cases are right"
    tap_run "table: $table: there are some" test "$n" -gt 1
    quiet "table: $table"
done
tap_done 13
