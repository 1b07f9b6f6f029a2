/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors of calls, and of the host's memory. */
#include "backends/opencl/opencl.h"

ssq_status opencl_no_memory(const struct services *core, size_t bytes)
{
    return core->error_set(SSQ_ERR_NOMEM,
                           "opencl: no host memory for %zu bytes", bytes);
}

ssq_status opencl_error(const struct services *core, const char *call,
                        cl_int error)
{
    return core->error_set(SSQ_ERR_DEVICE, "opencl: %s: %s (%d)", call,
                           opencl_error_name(error), (int)error);
}

ssq_status opencl_create_error(const struct services *core, const char *call,
                               cl_int error)
{
    /* of the device, or of the host: either may be freed by the program */
    bool memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                  error == CL_OUT_OF_HOST_MEMORY;
    (void)opencl_error(core, call, error);
    return memory ? SSQ_ERR_NOMEM : SSQ_ERR_DEVICE;
}
