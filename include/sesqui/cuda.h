/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - interop with CUDA: contexts, streams and memory of the caller's.
 *
 * Not part of sesqui.h. The handles are CUcontext and CUstream of the driver's
 * API, and device pointers as integers; this header needs none of CUDA's own.
 * What the runtime's API calls cudaStream_t is a CUstream. Nothing of CUDA
 * counts references: each has to live as long as what is made over it here. */
#ifndef SESQUI_CUDA_H
#define SESQUI_CUDA_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;

/** Open a device over the caller's context. Not needed beside the runtime's API
 *  or PyTorch: they use a device's primary context, and so does a device that
 *  is opened as "cuda:N".
 *  @param context  a CUcontext, current or not
 *  @param options  may be NULL
 *  @return SSQ_ERR_INVALID a NULL, no context, struct_size; SSQ_ERR_NOT_FOUND
 *          no cuda backend, or a context of a device that it does not list;
 *          SSQ_ERR_UNSUPPORTED a device that is too old; SSQ_ERR_DEVICE,
 *          SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_device_open(
    struct CUctx_st *context, const ssq_device_options *options,
    ssq_device **device);

/** A queue over the caller's stream: what either enqueues runs in the order of
 *  the calls.
 *  @param device  of cuda, over the context that native is of
 *  @param native  a CUstream; NULL is the context's default stream. Not
 *                 CU_STREAM_PER_THREAD, which is another in each thread
 *  @return SSQ_ERR_INVALID another backend's device, another context's stream;
 *          SSQ_ERR_UNSUPPORTED the driver is too old to tell; SSQ_ERR_DEVICE,
 *          SSQ_ERR_NOMEM. Since 0.1.
 *  @note Destroying the queue waits for what was enqueued, and leaves native as
 *        it is.
 *  @note native may be captured (cudaStreamBeginCapture, torch.cuda.graph), in
 *        any mode: ops, steps of optimizers and scalers, and ssq_graph_launch
 *        become nodes of the caller's graph. Their operands and the queue have
 *        to live as long as the graph may run: what the calls take of memory
 *        stays with the queue. Refused in a capture (SSQ_ERR_INVALID, which
 *        leaves it whole): to read or write tensors, events, ssq_queue_sync,
 *        and the default stream. Stages of scalers and optimizers move as if
 *        the calls had run, so capture whole steps; ssq_optimizer_set and
 *        schedules reach the launches. ssq_scaler_state_get tells what these
 *        have done, ssq_scaler_poll does not hear of them. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_queue_create(
    ssq_device *device, struct CUstream_st *native, ssq_queue **queue);

/** A buffer over the caller's memory: tensors on it (ssq_tensor_from_buffer)
 *  see what the caller wrote, and he what they hold. No copy.
 *  @param device   of cuda
 *  @param address  a CUdeviceptr on that device, a multiple of 16
 *  @param bytes    from there on, all of one allocation
 *  @return SSQ_ERR_INVALID a NULL, 0 bytes, another backend's device, memory of
 *          the host or of another device, more bytes than the allocation has;
 *          SSQ_ERR_UNSUPPORTED the driver is too old to tell. Since 0.1.
 *  @note The order between the caller's streams and our queues is the caller's
 *        business: ssq_queue_sync, or one stream for both. Several buffers may
 *        lie over the same bytes: ops know that they do, and refuse operands
 *        that overlap as they do within one buffer. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cuda_buffer_import(ssq_device *device, uint64_t address, uint64_t bytes,
                       ssq_buffer **buffer);

/** Where a device's memory comes from: the caller's own allocator, PyTorch's
 *  for one, so that two pools do not hold the same GPU's memory. The functions
 *  are called with the device's context current, from any thread but one at a
 *  time, and must not call the library. */
typedef struct ssq_cuda_allocator {
    size_t struct_size; /**< sizeof(ssq_cuda_allocator) */
    void *user;         /**< given to both */
    /** So many bytes of the device's memory, at a multiple of 256, that no work
     *  under way uses, on whichever stream; 0 where there are none. */
    uint64_t (*alloc)(void *user, uint64_t bytes);
    /** Take back what alloc gave; no work of ours uses it any more. */
    void (*free)(void *user, uint64_t address, uint64_t bytes);
} ssq_cuda_allocator;

/** Take device memory from here on from the caller's allocator. It is asked for
 *  slabs of 64 MiB and for what is larger than half of one. What the device
 *  holds unused goes back to where it came from, as by ssq_device_trim; the
 *  rest goes there later.
 *  @param allocator  copied; NULL: from the driver again. Its functions have to
 *                    work until the device's last buffer is gone
 *  @return SSQ_ERR_INVALID another backend's device, a NULL function,
 *          struct_size. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_allocator_set(
    ssq_device *device, const ssq_cuda_allocator *allocator);

/** Where a buffer begins, as a CUdeviceptr. Valid as long as the buffer.
 *  @return SSQ_ERR_INVALID a NULL, a buffer of another backend or of 0 bytes.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cuda_buffer_address(const ssq_buffer *buffer, uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
