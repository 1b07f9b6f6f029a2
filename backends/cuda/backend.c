/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - the table of the CUDA backend, and the function that the module
 * exports. */
#include "backends/cuda/queue.h"

static ssq_status cuda_backend_init(struct backend_instance *instance,
                                    const struct services *services)
{
    instance->core = services;
    instance->blas = &instance->blas_room;
    return pthread_mutex_init(&instance->blas->lock, NULL) == 0
               ? SSQ_OK
               : cuda_no_memory(services, sizeof(instance->blas->lock));
}

static const struct op_table ops = {
    .upload = cuda_uploads,
    .download = cuda_downloads,
    .gemm = cuda_gemms,
    .gemm_explain = cuda_gemm_explain,
    .gemm_algorithms = cuda_gemm_algorithms,
};

static const struct backend cuda_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "cuda",
    .preference = 50,
    .preference_of = cuda_preference_of,
    .instance_bytes = sizeof(struct backend_instance),
    .init = cuda_backend_init,
    .count = cuda_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .props = cuda_props,
    .limits = cuda_limits,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .trim = cuda_trim,
    .queue_open = cuda_queue_open,
    .queue_close = cuda_queue_close,
    .queue_sync = cuda_queue_sync,
    .completed = cuda_completed,
    .failure = cuda_queue_failure,
    .command_end = cuda_command_end,
    .captured = cuda_captured,
    .call = cuda_call,
    .identify = cuda_identify,
    .certified = cuda_certified,
    .kernel_get = cuda_kernel_get,
    .launch = cuda_launch,
    .graph_create = cuda_graph_create,
    .graph_launch = cuda_graph_launch,
    .graph_free = cuda_graph_free,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_query = cuda_event_query,
    .event_sync = cuda_event_sync,
    .event_reached = cuda_event_reached,
    .event_elapsed = cuda_event_elapsed,
    .open_native = cuda_open_native,
    .queue_native = cuda_queue_native,
    .import = cuda_import,
    .mem_handle = cuda_mem_handle,
    .mem_import = cuda_mem_import,
    .semaphore_import = cuda_shared_import,
    .semaphore_close = cuda_shared_close,
    .semaphore_signal = cuda_shared_signal,
    .semaphore_await = cuda_shared_await,
    .mem_addressed = true,
    .ordinal = cuda_ordinal,
    .allocator_set = cuda_allocator_set,
    .ops = &ops,
};

static const struct backend *cuda_backend_entry(uint32_t abi)
{
    (void)abi; /* the core compares */
    return &cuda_backend;
}

extern SSQ_API const backend_module_fn ssq_backend_module;
const backend_module_fn ssq_backend_module = cuda_backend_entry;
