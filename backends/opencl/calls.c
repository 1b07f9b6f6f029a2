/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the table of OpenCL calls, and the names of its errors. */
#include "backends/opencl/calls.h"

struct opencl_calls ssq_opencl_calls = {
#define X(RETURN, NAME, ARGS) .NAME = cl##NAME,
    OPENCL_CALLS(X)
#undef X
};

/* clang-format off */
#define OPENCL_ERRORS(X) \
    X(CL_SUCCESS) \
    X(CL_DEVICE_NOT_FOUND) \
    X(CL_DEVICE_NOT_AVAILABLE) \
    X(CL_COMPILER_NOT_AVAILABLE) \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE) \
    X(CL_OUT_OF_RESOURCES) \
    X(CL_OUT_OF_HOST_MEMORY) \
    X(CL_PROFILING_INFO_NOT_AVAILABLE) \
    X(CL_MEM_COPY_OVERLAP) \
    X(CL_BUILD_PROGRAM_FAILURE) \
    X(CL_MAP_FAILURE) \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET) \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
    X(CL_INVALID_VALUE) \
    X(CL_INVALID_DEVICE_TYPE) \
    X(CL_INVALID_PLATFORM) \
    X(CL_INVALID_DEVICE) \
    X(CL_INVALID_CONTEXT) \
    X(CL_INVALID_QUEUE_PROPERTIES) \
    X(CL_INVALID_COMMAND_QUEUE) \
    X(CL_INVALID_HOST_PTR) \
    X(CL_INVALID_MEM_OBJECT) \
    X(CL_INVALID_BINARY) \
    X(CL_INVALID_BUILD_OPTIONS) \
    X(CL_INVALID_PROGRAM) \
    X(CL_INVALID_PROGRAM_EXECUTABLE) \
    X(CL_INVALID_KERNEL_NAME) \
    X(CL_INVALID_KERNEL_DEFINITION) \
    X(CL_INVALID_KERNEL) \
    X(CL_INVALID_ARG_INDEX) \
    X(CL_INVALID_ARG_VALUE) \
    X(CL_INVALID_ARG_SIZE) \
    X(CL_INVALID_KERNEL_ARGS) \
    X(CL_INVALID_WORK_DIMENSION) \
    X(CL_INVALID_WORK_GROUP_SIZE) \
    X(CL_INVALID_WORK_ITEM_SIZE) \
    X(CL_INVALID_GLOBAL_OFFSET) \
    X(CL_INVALID_EVENT_WAIT_LIST) \
    X(CL_INVALID_EVENT) \
    X(CL_INVALID_OPERATION) \
    X(CL_INVALID_BUFFER_SIZE) \
    X(CL_INVALID_GLOBAL_WORK_SIZE) \
    X(CL_INVALID_PROPERTY) \
    /* the end of the list */
/* clang-format on */

const char *opencl_error_name(cl_int error)
{
    switch (error) {
#define X(NAME)                                                                \
    case NAME:                                                                 \
        return #NAME;
        OPENCL_ERRORS(X)
#undef X
    default:
        return "an error of the driver's own";
    }
}
