/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.c - <sesqui/opencl.h>: the functions with OpenCL's handles. The core
 * takes handles as pointers. This file includes no OpenCL header. */
#include <sesqui/opencl.h>

#include "lib/core/device/native.h"

/* The backend reads handles by position: context, then device. */
ssq_status ssq_opencl_device_open(struct _cl_context *context,
                                  struct _cl_device_id *id,
                                  const ssq_device_options *options,
                                  ssq_device **device)
{
    const void *const handles[] = {context, id};
    if (context == NULL || id == NULL || device == NULL)
        return error_set(SSQ_ERR_INVALID, "opencl_device_open: %s is NULL",
                         context == NULL ? "context"
                         : id == NULL    ? "id"
                                         : "device");
    return native_device_open("opencl", handles, options, "opencl_device_open",
                              device);
}

/* The core refuses NULL, after it has checked the device. */
ssq_status ssq_opencl_queue_create(ssq_device *device,
                                   struct _cl_command_queue *native,
                                   ssq_queue **queue)
{
    return native_queue_create("opencl", device, native, "opencl_queue_create",
                               queue);
}

/* The backend gets the size and the context of a cl_mem from OpenCL. */
ssq_status ssq_opencl_buffer_import(ssq_device *device, struct _cl_mem *native,
                                    ssq_buffer **buffer)
{
    return native_buffer_import("opencl", device, native,
                                "opencl_buffer_import", buffer);
}

/* The handle is written to a local void pointer. Writing to *native through a
 * void ** would break the aliasing rules. */
ssq_status ssq_opencl_buffer_mem(const ssq_buffer *buffer,
                                 struct _cl_mem **native, uint64_t *offset)
{
    void *handle = NULL;
    ssq_status st =
        native_buffer_handle("opencl", buffer, "opencl_buffer_mem",
                             native == NULL ? NULL : &handle, offset);
    if (st == SSQ_OK)
        *native = handle;
    return st;
}
