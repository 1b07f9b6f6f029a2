/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - interop with OpenCL: a context, command queues and memory that the
 * caller made.
 *
 *     ssq_opencl_device_open(context, id, NULL, &device);
 *     ssq_opencl_queue_create(device, cl_queue, &queue);
 *     ssq_opencl_buffer_import(device, cl_memory, &buffer);
 *     ssq_tensor_from_buffer(buffer, SSQ_F32, 1, shape, NULL, 0, &tensor);
 *
 * sesqui.h does not include this header. The handles are cl_context,
 * cl_device_id, cl_command_queue and cl_mem; no header of OpenCL is needed.
 *
 * Ownership: the library retains each handle while it uses it, and releases
 * only its own reference. The caller still owns the reference that it passed.
 * For example, the caller may release a cl_mem after it has imported it.
 *
 * Handles must exist. OpenCL detects a handle of another type, but it may end
 * the process for a pointer that is not a handle.
 *
 * @sync host
 * @threads any */
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
 *  @param context  a cl_context that contains id
 *  @param id       a cl_device_id that is available and has a compiler
 *  @param options  NULL: the defaults
 *  @param device   out; owned by the caller; release it with
 *                  ssq_device_close()
 *  @return
 *   - SSQ_ERR_INVALID      the context does not contain id
 *   - SSQ_ERR_NOT_FOUND    no OpenCL backend, or it does not list id
 *   - SSQ_ERR_UNSUPPORTED  the device failed its self-test, or cannot run it
 *   - SSQ_ERR_INVALID, SSQ_ERR_NOT_FOUND for variables of the environment, and
 *     SSQ_ERR_NOMEM, as ssq_device_open
 *  @sync waits for the self-test, if it runs
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_opencl_device_open(struct _cl_context *context, struct _cl_device_id *id,
                       const ssq_device_options *options, ssq_device **device);

/** Create a queue over the caller's command queue. Commands of the library and
 *  of the caller run in the order of the calls, except work that waits for a
 *  collective (comm.h) or that a trainer's .replay holds back (trainer.h).
 *
 *  The driver may hold commands back until a flush. ssq_queue_sync flushes all
 *  commands. If you wait for your own commands in another way, call clFlush.
 *
 *  ssq_queue_destroy waits for the work, and leaves native unchanged.
 *  ssq_event_elapsed returns SSQ_ERR_UNSUPPORTED unless native was made with
 *  CL_QUEUE_PROFILING_ENABLE.
 *  @param device  of the opencl backend, over the context of native. For
 *                 example, ssq_device_open("opencl") has another context.
 *  @param native  an in-order cl_command_queue of that device
 *  @param queue   out; owned by the caller; release it with
 *                 ssq_queue_destroy()
 *  @return SSQ_ERR_INVALID  a device of another backend; native is not a
 *                           cl_command_queue, belongs to another context or
 *                           device, or runs out of order
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_queue_create(
    ssq_device *device, struct _cl_command_queue *native, ssq_queue **queue);

/** Import a buffer of the caller, without a copy. It has the size of the
 *  cl_mem. Tensors on it (ssq_tensor_from_buffer) alias the caller's memory.
 *
 *  The caller must order its commands and the library's: with ssq_queue_sync,
 *  or with one command queue for both (ssq_opencl_queue_create).
 *
 *  Ops refuse operands that overlap in one cl_mem, also if it was imported
 *  twice. A sub-buffer counts as other memory than its parent and than other
 *  sub-buffers: the caller must not write operands that overlap there.
 *  @param device  of the opencl backend, over the context of native
 *  @param native  a cl_mem buffer that kernels may read and write. If it was
 *                 made with CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY or
 *                 CL_MEM_HOST_WRITE_ONLY (not checked), a copy that the flag
 *                 forbids, for example ssq_tensor_read, fails with
 *                 SSQ_ERR_DEVICE and ends the queue.
 *  @param buffer  out; owned by the caller; release it with
 *                 ssq_buffer_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      a device of another backend; native belongs to
 *                          another context, is not a buffer (for example an
 *                          image), or is read-only or write-only for kernels
 *   - SSQ_ERR_UNSUPPORTED  native has more bytes than a launch can reach
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_buffer_import(
    ssq_device *device, struct _cl_mem *native, ssq_buffer **buffer);

/** Return the cl_mem that contains a buffer, and the buffer's start in it. Both
 *  are valid as long as the buffer exists: your enqueued commands do not hold
 *  it. A buffer of ssq_buffer_create shares its cl_mem with others. An imported
 *  buffer returns its own cl_mem and 0. Order your commands and the library's
 *  as for ssq_opencl_buffer_import.
 *  @param native  out: the cl_mem, not retained for the caller
 *  @param offset  out: bytes
 *  @return SSQ_ERR_INVALID  a buffer of another backend, or of 0 bytes
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_opencl_buffer_mem(
    const ssq_buffer *buffer, struct _cl_mem **native, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
