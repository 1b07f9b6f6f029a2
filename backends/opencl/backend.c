/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - the table of the OpenCL backend, and what the module exports. */
#include "backends/opencl/opencl.h"

/* The core lends its services once for each copy of the library; devices get
 * them from here. */
static ssq_status opencl_backend_init(struct backend_instance *instance,
                                      const struct services *services)
{
    instance->core = services;
    return SSQ_OK;
}

static const struct op_table ops = {
    .upload = opencl_uploads,
    .download = opencl_downloads,
    .gemm = opencl_gemms,
    .gemm_explain = opencl_gemm_explain,
};

static const struct backend opencl_backend = {
    .abi = SSQ_BACKEND_ABI,
    .name = "opencl",
    .preference = 30,
    .preference_of = opencl_preference_of,
    .instance_bytes = sizeof(struct backend_instance),
    .init = opencl_backend_init,
    .count = opencl_count,
    .describe = opencl_describe,
    .open = opencl_open,
    .close = opencl_close,
    .props = opencl_props,
    .limits = opencl_limits,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .queue_open = opencl_queue_open,
    .queue_close = opencl_queue_close,
    .queue_sync = opencl_queue_sync,
    .completed = opencl_completed,
    .failure = opencl_queue_check,
    .command_end = opencl_command_end,
    .identify = opencl_identify,
    .certified = opencl_certified,
    .kernel_get = opencl_kernel_get,
    .launch = opencl_launch,
    .graph_create = opencl_graph_create,
    .graph_launch = opencl_graph_launch,
    .graph_free = opencl_graph_free,
    .event_open = opencl_event_open,
    .event_close = opencl_event_close,
    .event_record = opencl_event_record,
    .event_wait = opencl_event_wait,
    .event_query = opencl_event_query,
    .event_sync = opencl_event_sync,
    .event_elapsed = opencl_event_elapsed,
    .open_native = opencl_open_native,
    .queue_native = opencl_queue_native,
    .import = opencl_import,
    .mem_handle = opencl_mem_handle,
    .ops = &ops,
};

static const struct backend *opencl_backend_entry(uint32_t abi)
{
    (void)abi; /* the core compares */
    return &opencl_backend;
}

extern SSQ_API const backend_module_fn ssq_backend_module;
const backend_module_fn ssq_backend_module = opencl_backend_entry;
