/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - interop with CUDA: a context, streams and memory that the caller
 * made.
 *
 *     ssq_device_open("cuda:0", NULL, &device);
 *     ssq_cuda_queue_create(device, stream, &queue);
 *     ssq_cuda_buffer_import(device, address, bytes, &buffer);
 *     ssq_tensor_from_buffer(buffer, SSQ_F32, 1, shape, NULL, 0, &tensor);
 *
 * sesqui.h does not include this header. The handles are CUcontext and CUstream
 * of the driver API; a cudaStream_t of the runtime API is a CUstream. Device
 * pointers are passed as integers. No header of CUDA is needed.
 *
 * Ownership: the caller owns all CUDA handles and imported memory, and the
 * library never destroys them. CUDA counts no references: the caller must keep
 * a handle until every object over it is destroyed. For example, before
 * cudaStreamDestroy call ssq_queue_destroy, and destroy all events whose last
 * record was on that queue. Imported memory must also exist until the library's
 * work on it has run (ssq_queue_sync): a graph, or a tape until its pass ends,
 * can still use it.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_CUDA_H
#define SESQUI_CUDA_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;

/** Open a device over the caller's context. With the runtime API or PyTorch use
 *  ssq_device_open("cuda:N") instead: all of them use the primary context of
 *  the GPU.
 *  @param context  a CUcontext; it need not be current
 *  @param options  NULL: the defaults
 *  @param device   out; owned by the caller; release it with
 *                  ssq_device_close()
 *  @return
 *   - SSQ_ERR_INVALID      the driver refuses the context. It may end the
 *                          process for a pointer that is not a CUcontext
 *   - SSQ_ERR_NOT_FOUND    no CUDA backend, or it does not list the context's
 *                          GPU
 *   - SSQ_ERR_UNSUPPORTED  the GPU is too old, in compute mode "prohibited",
 *                          failed its self-test, or cannot run it
 *   - SSQ_ERR_INVALID, SSQ_ERR_NOT_FOUND for variables of the environment, as
 *     ssq_device_open
 *  @sync waits for the self-test, if it runs
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_device_open(
    struct CUctx_st *context, const ssq_device_options *options,
    ssq_device **device);

/** Create a queue over the caller's stream. Work of the library and of the
 *  caller runs in the order of the calls; for exceptions see
 *  ssq_cuda_queue_stream. ssq_queue_destroy waits for the work, and leaves
 *  native unchanged.
 *
 *  Capture. You may capture the stream with CUDA's own calls, in any mode
 *  (cudaStreamBeginCapture, torch.cuda.graph). Then ops, steps of optimizers
 *  and scalers, and ssq_graph_launch become nodes of your graph.
 *
 *   - Run the step once before the capture. For example, that compiles kernels
 *     and creates optimizer states.
 *   - The operands and the queue must exist as long as your graph may run. The
 *     queue keeps the memory that captured calls need.
 *   - These calls return SSQ_ERR_INVALID in a capture, and leave it valid:
 *     ssq_tensor_read, ssq_tensor_write, ssq_event_record, ssq_queue_wait and
 *     ssq_queue_sync. So do ops that would run on the host (host_fallback in
 *     device.h), and calls of other headers that say so. So do calls on a queue
 *     over the default stream, if the captured stream waits for that.
 *   - Scalers and optimizers change their stage as if the calls had run. So
 *     capture whole steps, for example up to ssq_scaler_update.
 *   - Launches follow ssq_optimizer_set and schedules. ssq_scaler_state_get
 *     includes the launches; ssq_scaler_poll does not.
 *  @param device  of the cuda backend, over the context of native
 *  @param native  a CUstream that exists (not checked: a driver may end the
 *                 process for another pointer); NULL: the default stream of the
 *                 context. Not CU_STREAM_PER_THREAD, which differs from thread
 *                 to thread
 *  @param queue   out; owned by the caller; release it with
 *                 ssq_queue_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      a device of another backend; native belongs to
 *                          another context, or is CU_STREAM_PER_THREAD
 *   - SSQ_ERR_UNSUPPORTED  the driver is too old to report a stream's context
 *   - SSQ_ERR_NOMEM        also: no device memory for the queue's workspace
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_queue_create(
    ssq_device *device, struct CUstream_st *native, ssq_queue **queue);

/** Return the CUstream of a queue. Another library can enqueue work on it,
 *  which runs between the queue's earlier and later work. For example, a
 *  consumer of DLPack passes it to the producer, which makes it wait.
 *
 *  The stream does not have work yet that waits for a collective (comm.h), or
 *  that a trainer's .replay holds back (trainer.h). Call ssq_queue_sync if the
 *  other library's work must follow it.
 *  @param queue   of a device of the cuda backend
 *  @param stream  out; owned by the queue, or by the caller of
 *                 ssq_cuda_queue_create. Valid as long as the queue exists.
 *                 CU_STREAM_LEGACY for the default stream, never NULL
 *  @return
 *   - SSQ_ERR_INVALID  queue or stream is NULL; a queue of another backend
 *   - the error of the queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_queue_stream(
    ssq_queue *queue, struct CUstream_st **stream);

/** Import device memory of the caller, without a copy. Tensors on the buffer
 *  (ssq_tensor_from_buffer) alias the caller's memory.
 *
 *  The caller must order its streams and the library's queues: with
 *  ssq_queue_sync, or with one stream for both (ssq_cuda_queue_create). Several
 *  buffers may cover the same bytes. Ops refuse operands that overlap, as they
 *  do within one buffer.
 *  @param device   of the cuda backend
 *  @param address  a CUdeviceptr on that GPU, a multiple of 16
 *  @param bytes    size, within one allocation
 *  @param buffer   out; owned by the caller; release it with
 *                  ssq_buffer_destroy(), which does not free the memory
 *  @return
 *   - SSQ_ERR_INVALID      address or bytes is 0; address is not a multiple of
 *                          16; a device of another backend; memory of the host
 *                          or of another GPU; the allocation ends before
 *                          address + bytes
 *   - SSQ_ERR_UNSUPPORTED  the driver is too old to report a pointer's memory
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cuda_buffer_import(ssq_device *device, uint64_t address, uint64_t bytes,
                       ssq_buffer **buffer);

/** Allocator of the caller for device memory. For example, PyTorch's: then two
 *  pools do not compete for the GPU's memory. Its functions are called with the
 *  device's context current, on any thread that uses the device, also on
 *  several at the same time. They must not call the library. */
typedef struct ssq_cuda_allocator {
    size_t struct_size; /**< sizeof(ssq_cuda_allocator) */
    void *user;         /**< passed to both */
    /** Return the address of `bytes` bytes of device memory, or 0 if none is
     *  left. The address must be a multiple of 256: otherwise it is freed at
     *  once, and the call that needs memory returns SSQ_ERR_INVALID. No work in
     *  flight on any stream may use the memory. */
    uint64_t (*alloc)(void *user, uint64_t bytes);
    /** Free memory that alloc returned, with the same size. The library's work
     *  on it has run. */
    void (*free)(void *user, uint64_t address, uint64_t bytes);
} ssq_cuda_allocator;

/** Use the caller's allocator for device memory from now on. The library asks
 *  it for slabs of 64 MiB, for each buffer larger than half a slab, and for the
 *  workspaces of matmuls. If a slab is refused, the library asks for the buffer
 *  alone. If it cannot allocate at all, the call that needs memory fails.
 *
 *  Unused memory is returned now, as by ssq_device_trim. Memory in use is
 *  returned later. Both go to the allocator that they came from.
 *  @param allocator  copied; NULL: the driver again. Its functions must work
 *                    until the device is closed and its last object destroyed:
 *                    slabs without a live buffer are returned only then, by
 *                    ssq_device_trim, or when device memory is short.
 *  @return SSQ_ERR_INVALID  a device of another backend; alloc or free is NULL
 *  @sync host, except that a driver without memory pools may wait for the
 *        device when memory is returned
 *  @threads object No other thread may use the device, or its queues, at the
 *           same time.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cuda_allocator_set(
    ssq_device *device, const ssq_cuda_allocator *allocator);

/** Return the CUdeviceptr of a buffer's first byte. It is valid as long as the
 *  buffer exists.
 *  @param address  out
 *  @return SSQ_ERR_INVALID  a buffer of another backend, or of 0 bytes
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cuda_buffer_address(const ssq_buffer *buffer, uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
