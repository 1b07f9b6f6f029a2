/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - interop with OpenCL: devices, queues and memory of the caller's.
 *
 * Not part of sesqui.h. The handles are cl_context, cl_device_id,
 * cl_command_queue and cl_mem; this header needs none of OpenCL's own. Each
 * handle is retained as long as it is used here, and never released more often:
 * the caller goes on owning his reference. */
#ifndef SESQUI_OPENCL_H
#define SESQUI_OPENCL_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;

/** Open a device over the caller's context.
 *  @param context  a cl_context that has id
 *  @param id       a cl_device_id that compiles and is available
 *  @param options  may be NULL
 *  @return SSQ_ERR_INVALID a NULL, a context without id, struct_size;
 *          SSQ_ERR_NOT_FOUND no opencl backend, or id is not one of its
 *          devices; SSQ_ERR_DEVICE, SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_opencl_device_open(struct _cl_context *context, struct _cl_device_id *id,
                       const ssq_device_options *options, ssq_device **device);

/** A queue over the caller's: what either enqueues runs in the order of the
 *  calls. The caller flushes what he enqueues himself.
 *  @param device  of opencl, over the context that native is of
 *  @param native  an in-order cl_command_queue for that device
 *  @return SSQ_ERR_INVALID a NULL, another backend's device, another context
 *          or device, a queue that is out of order. Since 0.1.
 *  @note ssq_event_elapsed is SSQ_ERR_UNSUPPORTED unless native was made with
 *        CL_QUEUE_PROFILING_ENABLE. Destroying the queue waits for what was
 *        enqueued, and leaves native as it is. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_queue_create(
    ssq_device *device, struct _cl_command_queue *native, ssq_queue **queue);

/** A buffer over the caller's memory: tensors on it (ssq_tensor_from_buffer)
 *  see what the caller wrote, and he what they hold. No copy.
 *  @param device  of opencl, over the context that native is of
 *  @param native  a cl_mem buffer that kernels may read and write
 *  @return SSQ_ERR_INVALID a NULL, another backend's device, another context,
 *          an image, a buffer that is read-only or write-only for kernels;
 *          SSQ_ERR_UNSUPPORTED more bytes than a launch can reach. Since 0.1.
 *  @note The order between the caller's queues and ours is the caller's
 *        business: ssq_queue_sync, or one queue for both. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_buffer_import(
    ssq_device *device, struct _cl_mem *native, ssq_buffer **buffer);

/** The cl_mem that a buffer is a part of, and where it begins, in bytes.
 *  Valid as long as the buffer; not retained for the caller.
 *  @return SSQ_ERR_INVALID a NULL, a buffer of another backend or of 0 bytes.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_buffer_mem(
    const ssq_buffer *buffer, struct _cl_mem **native, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
