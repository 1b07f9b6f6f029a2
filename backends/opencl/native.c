/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - the caller's own context, queues and buffers.
 *
 * Each handle is retained here and released as ours is: code that closes a
 * device, a queue or a memory need not know whose it is. The type of a handle
 * is asked of the driver, which refuses most values that are not handles. */
#include "backends/opencl/opencl.h"

static ssq_status opencl_native_refuse_handle(const struct services *core,
                                              const char *what)
{
    return core->error_set(SSQ_ERR_INVALID, "opencl: %s", what);
}

/* True if id is one of a context's devices, of which this many are looked at.
 */
#define MOST_IN_CONTEXT 64
static bool context_has(cl_context context, cl_device_id id)
{
    cl_device_id ids[MOST_IN_CONTEXT];
    size_t bytes = 0;
    if (CL(GetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof(ids), ids,
                           &bytes) != CL_SUCCESS)
        return false;
    for (size_t i = 0; i < bytes / sizeof(*ids); i++)
        if (ids[i] == id)
            return true;
    return false;
}

ssq_status opencl_open_native(struct backend_instance *instance,
                              const void *const *handles, unsigned *i,
                              struct backend_device **device)
{
    /* the interop header takes them without const */
    cl_context context = (cl_context)(uintptr_t)handles[0];
    cl_device_id id = (cl_device_id)(uintptr_t)handles[1];
    if (!opencl_device_find(instance, id, i))
        return instance->core->error_set(
            SSQ_ERR_NOT_FOUND,
            "opencl: the device is not one that is available and compiles");
    if (!context_has(context, id))
        return opencl_native_refuse_handle(
            instance->core, "the context does not have the device");
    return opencl_open_over(instance, *i, context, device);
}

/* A queue of the caller's, if it is of this context and device, and in
 * order. */
ssq_status opencl_queue_native(struct backend_device *d, const void *handle,
                               struct backend_queue **queue)
{
    cl_command_queue native = (cl_command_queue)(uintptr_t)handle;
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties how = 0;
    cl_int e = CL(GetCommandQueueInfo)(native, CL_QUEUE_CONTEXT,
                                       sizeof(context), &context, NULL);
    if (e == CL_SUCCESS)
        e = CL(GetCommandQueueInfo)(native, CL_QUEUE_DEVICE, sizeof(id), &id,
                                    NULL);
    if (e == CL_SUCCESS)
        e = CL(GetCommandQueueInfo)(native, CL_QUEUE_PROPERTIES, sizeof(how),
                                    &how, NULL);
    if (e != CL_SUCCESS)
        return opencl_native_refuse_handle(d->core,
                                           "the queue is no cl_command_queue");
    if (context != d->context || id != d->id)
        return opencl_native_refuse_handle(
            d->core, "the queue is of another context or device");
    /* marks and copies rely on the order of commands */
    if ((how & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0)
        return opencl_native_refuse_handle(d->core,
                                           "the queue is out of order");
    return opencl_queue_over(d, native, queue);
}

/* A buffer of the caller's, if kernels of this device may read and write it. */
ssq_status opencl_import(struct backend_device *d, const void *handle,
                         struct backend_mem **mem)
{
    cl_mem native = (cl_mem)(uintptr_t)handle;
    cl_context context = NULL;
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    size_t bytes = 0;
    cl_int e = CL(GetMemObjectInfo)(native, CL_MEM_CONTEXT, sizeof(context),
                                    &context, NULL);
    if (e == CL_SUCCESS)
        e = CL(GetMemObjectInfo)(native, CL_MEM_TYPE, sizeof(type), &type,
                                 NULL);
    if (e == CL_SUCCESS)
        e = CL(GetMemObjectInfo)(native, CL_MEM_FLAGS, sizeof(flags), &flags,
                                 NULL);
    if (e == CL_SUCCESS)
        e = CL(GetMemObjectInfo)(native, CL_MEM_SIZE, sizeof(bytes), &bytes,
                                 NULL);
    if (e != CL_SUCCESS || type != CL_MEM_OBJECT_BUFFER)
        return opencl_native_refuse_handle(d->core, "the memory is no buffer");
    if (context != d->context)
        return opencl_native_refuse_handle(d->core,
                                           "the buffer is of another context");
    if ((flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)) != 0)
        return opencl_native_refuse_handle(
            d->core, "kernels may not read and write the buffer");
    return opencl_mem_over(d, native, bytes, mem);
}

void *opencl_mem_handle(const struct backend_mem *mem)
{
    return ((const struct opencl_mem *)mem)->cl;
}
