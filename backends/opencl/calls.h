/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - every OpenCL call of the backend, through one table.
 *
 * CL(Finish)(q) is clFinish(q). The table is exported, so that a test can put
 * itself between: make the Nth call fail, or count what is released. */
#ifndef BACKENDS_OPENCL_CALLS_H
#define BACKENDS_OPENCL_CALLS_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
/* Headers of 2025 keep the types of cl_khr_command_buffer behind this. */
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <sesqui/status.h>

/* clang-format off */
#define OPENCL_CALLS(X) \
    X(cl_int, GetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *)) \
    X(cl_int, GetPlatformInfo, (cl_platform_id, cl_platform_info, size_t, \
        void *, size_t *)) \
    X(cl_int, GetDeviceIDs, (cl_platform_id, cl_device_type, cl_uint, \
        cl_device_id *, cl_uint *)) \
    X(cl_int, GetDeviceInfo, (cl_device_id, cl_device_info, size_t, void *, \
        size_t *)) \
    X(void *, GetExtensionFunctionAddressForPlatform, (cl_platform_id, \
        const char *)) \
    X(cl_context, CreateContext, (const cl_context_properties *, cl_uint, \
        const cl_device_id *, void (*)(const char *, const void *, size_t, \
        void *), void *, cl_int *)) \
    X(cl_int, RetainContext, (cl_context)) \
    X(cl_int, ReleaseContext, (cl_context)) \
    X(cl_int, GetContextInfo, (cl_context, cl_context_info, size_t, void *, \
        size_t *)) \
    X(cl_command_queue, CreateCommandQueue, (cl_context, cl_device_id, \
        cl_command_queue_properties, cl_int *)) \
    X(cl_int, RetainCommandQueue, (cl_command_queue)) \
    X(cl_int, ReleaseCommandQueue, (cl_command_queue)) \
    X(cl_int, GetCommandQueueInfo, (cl_command_queue, \
        cl_command_queue_info, size_t, void *, size_t *)) \
    X(cl_mem, CreateBuffer, (cl_context, cl_mem_flags, size_t, void *, \
        cl_int *)) \
    X(cl_mem, CreateSubBuffer, (cl_mem, cl_mem_flags, cl_buffer_create_type, \
        const void *, cl_int *)) \
    X(cl_int, RetainMemObject, (cl_mem)) \
    X(cl_int, ReleaseMemObject, (cl_mem)) \
    X(cl_int, GetMemObjectInfo, (cl_mem, cl_mem_info, size_t, void *, \
        size_t *)) \
    X(cl_program, CreateProgramWithSource, (cl_context, cl_uint, \
        const char **, const size_t *, cl_int *)) \
    X(cl_program, CreateProgramWithBinary, (cl_context, cl_uint, \
        const cl_device_id *, const size_t *, const unsigned char **, \
        cl_int *, cl_int *)) \
    X(cl_int, BuildProgram, (cl_program, cl_uint, const cl_device_id *, \
        const char *, void (*)(cl_program, void *), void *)) \
    X(cl_int, GetProgramBuildInfo, (cl_program, cl_device_id, \
        cl_program_build_info, size_t, void *, size_t *)) \
    X(cl_int, GetProgramInfo, (cl_program, cl_program_info, size_t, void *, \
        size_t *)) \
    X(cl_int, ReleaseProgram, (cl_program)) \
    X(cl_kernel, CreateKernel, (cl_program, const char *, cl_int *)) \
    X(cl_int, GetKernelWorkGroupInfo, (cl_kernel, cl_device_id, \
        cl_kernel_work_group_info, size_t, void *, size_t *)) \
    X(cl_int, SetKernelArg, (cl_kernel, cl_uint, size_t, const void *)) \
    X(cl_int, ReleaseKernel, (cl_kernel)) \
    X(cl_int, EnqueueNDRangeKernel, (cl_command_queue, cl_kernel, cl_uint, \
        const size_t *, const size_t *, const size_t *, cl_uint, \
        const cl_event *, cl_event *)) \
    X(cl_int, EnqueueReadBuffer, (cl_command_queue, cl_mem, cl_bool, size_t, \
        size_t, void *, cl_uint, const cl_event *, cl_event *)) \
    X(cl_int, EnqueueWriteBuffer, (cl_command_queue, cl_mem, cl_bool, size_t, \
        size_t, const void *, cl_uint, const cl_event *, cl_event *)) \
    X(cl_int, EnqueueMarkerWithWaitList, (cl_command_queue, cl_uint, \
        const cl_event *, cl_event *)) \
    X(cl_int, EnqueueBarrierWithWaitList, (cl_command_queue, cl_uint, \
        const cl_event *, cl_event *)) \
    X(cl_int, GetEventInfo, (cl_event, cl_event_info, size_t, void *, \
        size_t *)) \
    X(cl_int, GetEventProfilingInfo, (cl_event, cl_profiling_info, size_t, \
        void *, size_t *)) \
    X(cl_int, WaitForEvents, (cl_uint, const cl_event *)) \
    X(cl_int, ReleaseEvent, (cl_event)) \
    X(cl_int, Flush, (cl_command_queue)) \
    X(cl_int, Finish, (cl_command_queue)) \
    /* the end of the list */
/* clang-format on */

struct opencl_calls {
#define X(RETURN, NAME, ARGS) RETURN(*NAME) ARGS;
    OPENCL_CALLS(X)
#undef X
};

/** Filled with the functions that the module is linked with. */
extern SSQ_API struct opencl_calls ssq_opencl_calls;

#define CL(NAME) ssq_opencl_calls.NAME

/** "CL_OUT_OF_RESOURCES" */
const char *opencl_error_name(cl_int error);

#endif
