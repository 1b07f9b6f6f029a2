#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# calls.sh - sequences of calls, on two devices in lockstep: the corpus on each
# device, and a fixed number of runs; and that all of the API takes part.

. "${srcdir:-.}/tests/fuzz/target.sh"

# Public functions that no fuzz target calls, and why.
not_fuzzed() {
    cat <<'END'
ssq_allocator_set before any object: tests/core/alloc
ssq_activation_name text, pure
ssq_array_class pure: tests/data/images
ssq_buffer_bytes pure
ssq_buffer_export memory of two drivers: tests/vulkan/share
ssq_buffer_import likewise
ssq_comm_all_gather several ranks, threads and time-outs: tests/comm
ssq_comm_all_reduce likewise
ssq_comm_barrier likewise
ssq_comm_broadcast likewise
ssq_comm_compare likewise
ssq_comm_destroy likewise
ssq_comm_device pure
ssq_comm_local_create several ranks, threads and time-outs: tests/comm
ssq_comm_mpi_open several processes: tests/comm/mpi.sh
ssq_comm_nccl_create several GPUs: tests/comm/nccl
ssq_comm_nccl_id tests/comm/nccl_fail
ssq_comm_nccl_join several GPUs: tests/comm/nccl
ssq_comm_place_get pure: tests/comm/place
ssq_comm_rank pure
ssq_comm_reduce_scatter several ranks, threads and time-outs: tests/comm
ssq_comm_size pure
ssq_comm_status pure
ssq_comm_transport pure
ssq_comm_wait several ranks, threads and time-outs: tests/comm/work
ssq_comm_weights several ranks, threads and time-outs: tests/comm/weights
ssq_comm_work_destroy several ranks, threads and time-outs: tests/comm/work
ssq_convert host memory: tests/api/dtype, tests/scalar
ssq_cpu_device_open the devices stay open for all programs: tests/cpu/options
ssq_cpu_info_get pure
ssq_device_close the devices stay open for all programs
ssq_device_count read by the environment target through open
ssq_device_list likewise
ssq_device_props_get pure
ssq_device_verdict_get of kept files: tests/api/certify
ssq_device_verdict_keep likewise
ssq_dlpack_capsule_release an object of Python: tests/core/dlpack
ssq_dtype_from_name pure
ssq_gemm_explain runs nothing: conformance/gemm
ssq_gemm_pack what is packed takes weights' place: tests/cpu/pack
ssq_gemm_repack likewise
ssq_gemm_tune measures: tests/cpu/tuning
ssq_gemm_tuning_clear likewise
ssq_gemm_tuning_get likewise
ssq_gemm_tuning_path likewise
ssq_gradcheck a callback, which programs have not: tests/tape/gradients
ssq_graph_begin_dry keeps nothing: every case of tests/api/support
ssq_implementation_name pure
ssq_implementation_pin not beside other work on the device
ssq_log_set tests/core/log
ssq_op_class_name pure
ssq_op_name pure
ssq_optimizer_distribute several ranks: tests/comm/shards
ssq_error_set a text: tests/tape/hooks
ssq_policy_class pure
ssq_policy_from_name pure
ssq_policy_op_class pure
ssq_policy_op_name pure
ssq_queue_device pure
ssq_queue_stats_get pure: tests/core/guard
ssq_schedule_value pure: tests/amp/schedule
ssq_safetensors_write files of the program's: tests/tape/safetensors
ssq_scaler_simulate pure: tests/amp/trace
ssq_scaler_rank_hook_set a callback: tests/amp/rules
ssq_semaphore_create of two drivers: tests/vulkan/share
ssq_semaphore_destroy likewise
ssq_semaphore_import likewise
ssq_semaphore_signal likewise
ssq_semaphore_wait likewise
ssq_tensor_create buffers of a program are made at its begin
ssq_tensor_device pure
ssq_tensor_rank pure
ssq_tensor_size pure
ssq_trainer_announce several ranks: tests/comm/join
ssq_trainer_idle several ranks: tests/comm/share
ssq_trainer_next several ranks: tests/comm/join
ssq_trainer_share several ranks: tests/comm/share
ssq_training_rate_get of kept files: tests/comm/weights
ssq_training_rate_keep likewise
ssq_version pure
END
}

# All that the library exports; symbols.txt may not have the newest names.
public() {
    if [ -f "$builddir/.libs/libsesqui.so" ]; then
        ${NM:-nm} -D --defined-only "$builddir/.libs/libsesqui.so" |
            ${AWK:-awk} '{ print $NF }' | sed 's/@.*//'
    else
        sed 's/ .*//' "$srcdir/tests/lint/symbols.txt"
    fi | grep '^ssq_' | LC_ALL=C sort -u
}

# Every public function is an op of the table, or called by name, or excused. The
# functions of <sesqui/init.h> are generated, and tests/lint/init.sh tests all.
covered() {
    cat "$srcdir"/tests/fuzz/*.c "$srcdir"/tests/fuzz/*.h \
        "$tmp/fuzz/vars_table.h" |
        tr -c 'a-z0-9_' '\n' | grep '^ssq_' | sort -u >"$tmp/named"
    sed -n 's/.*return \(ssq_[a-z0-9_]*\)(q, a);.*/\1/p' \
        "$tmp/fuzz/table.h" >"$tmp/ops"
    not_fuzzed | sed 's/ .*//' >"$tmp/excused"
    public | grep -vE '^ssq_(opencl|vulkan|cuda)_|_init$' |
        grep -vxF -f "$tmp/named" | grep -vxF -f "$tmp/ops" |
        grep -vxF -f "$tmp/excused"
}

# Every struct of arguments is that of an op in the table.
structs() {
    sed -n 's/^} \(ssq_[a-z0-9_]*_args\);.*/\1/p' \
        "$srcdir"/include/sesqui/ops/*.h | sort -u >"$tmp/structs"
    while read -r type; do
        grep -q "fields_$type\\[\\]" "$tmp/fuzz/table.h" || echo "$type"
    done <"$tmp/structs"
}

fuzz_build calls
covered >"$tmp/out"
tap_empty 'every public function is fuzzed or excused'
public >"$tmp/public"
not_fuzzed | sed 's/ .*//' | grep -vxF -f "$tmp/public" >"$tmp/out"
tap_empty 'every excused function exists'
structs >"$tmp/out"
tap_empty "arguments of ops are in the table: $(grep -c '' "$tmp/structs")"
fuzz_replay calls guard
fuzz_replay calls opencl '0[1-4]'
fuzz_replay calls vulkan '[01]*'
fuzz_runs calls 300
tap_done 8
