/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - the table of the Vulkan backend, and what the module exports. */
#include "backends/vulkan/coopmat.h"
#include "backends/vulkan/vulkan.h"

/* The core lends its services once for each copy of the library; devices get
 * them from here. */
static ssq_status vulkan_backend_init(struct backend_instance *instance,
                                      const struct services *services)
{
    instance->core = services;
    return SSQ_OK;
}

static const struct op_table ops = {
    .upload = vulkan_uploads,
    .download = vulkan_downloads,
    .gemm = vulkan_gemms,
    .gemm_explain = vulkan_gemm_explain,
};

static const struct backend vulkan_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "vulkan",
    .preference = 40,
    .preference_of = vulkan_preference_of,
    .instance_bytes = sizeof(struct backend_instance),
    .init = vulkan_backend_init,
    .count = vulkan_count,
    .describe = vulkan_describe,
    .open = vulkan_open,
    .close = vulkan_device_close,
    .props = vulkan_props,
    .limits = vulkan_limits,
    .alloc = vulkan_alloc,
    .free = vulkan_free,
    .queue_open = vulkan_queue_open,
    .queue_close = vulkan_queue_close,
    .queue_sync = vulkan_queue_sync,
    .completed = vulkan_completed,
    .failure = vulkan_queue_failure,
    .reserve = vulkan_reserve,
    .command_end = vulkan_command_end,
    .identify = vulkan_identify,
    .certified = vulkan_certified,
    .kernel_get = vulkan_kernel_get,
    .launch = vulkan_launch,
    .graph_create = vulkan_graph_create,
    .graph_launch = vulkan_graph_launch,
    .graph_free = vulkan_graph_free,
    .event_open = vulkan_event_open,
    .event_close = vulkan_event_close,
    .event_record = vulkan_event_record,
    .event_wait = vulkan_event_wait,
    .event_query = vulkan_event_query,
    .event_sync = vulkan_event_sync,
    .event_elapsed = vulkan_event_elapsed,
    .open_native = vulkan_open_native,
    .import = vulkan_import,
    .mem_handle = vulkan_mem_handle,
    .mem_identity = vulkan_mem_identity,
    .info = vulkan_info,
    .event_semaphore = vulkan_event_semaphore,
    .semaphore_wait = vulkan_semaphore_wait,
    .mem_export = vulkan_mem_export,
    .mem_import = vulkan_mem_import,
    .semaphore_open = vulkan_shared_open,
    .semaphore_import = vulkan_shared_import,
    .semaphore_close = vulkan_shared_close,
    .semaphore_signal = vulkan_shared_signal,
    .semaphore_await = vulkan_shared_await,
    .ops = &ops,
};

static const struct backend *vulkan_backend_entry(uint32_t abi)
{
    /* the core compares the number with the table's */
    (void)abi;
    return &vulkan_backend;
}

extern SSQ_API const backend_module_fn ssq_backend_module;
const backend_module_fn ssq_backend_module = vulkan_backend_entry;
