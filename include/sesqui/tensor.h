/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - buffers, tensors, views, and copies from and to host memory.
 *
 *     float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
 *     ssq_tensor_create(device, SSQ_F16, 2, (int64_t[]){2, 3}, &tensor);
 *     ssq_tensor_write(queue, tensor, x, sizeof(x), SSQ_F32);
 *     ..                                              ops on the queue
 *     ssq_tensor_read(queue, tensor, x, sizeof(x), SSQ_F32);
 *     ssq_queue_sync(queue);                          x may be read now
 *     ssq_tensor_destroy(&tensor);
 *
 * A buffer is device memory. A tensor describes a part of a buffer: dtype,
 * shape, strides and offset. The description never changes. A view is another
 * tensor on the same buffer; nothing is copied. Each tensor holds its buffer.
 *
 * Shapes and strides are in elements, offsets in bytes. Tensors are row-major:
 * the last dimension changes fastest. A tensor of rank 0 is a scalar. A
 * dimension may be 0.
 *
 * Enqueued work holds its buffers. A tensor may be destroyed directly after the
 * call that uses it.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_TENSOR_H
#define SESQUI_TENSOR_H

#include <sesqui/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum rank of a tensor. */
#define SSQ_MAX_RANK 6

typedef struct ssq_buffer ssq_buffer;
typedef struct ssq_tensor ssq_tensor;

/** Allocate device memory. It starts at a multiple of 256 bytes, and is not
 *  initialized.
 *  @param bytes   may be 0
 *  @param buffer  out; owned by the caller; release it with
 *                 ssq_buffer_destroy()
 *  @return
 *   - SSQ_ERR_INVALID  this thread captures a graph on the device (graph.h)
 *   - SSQ_ERR_NOMEM    also: bytes is more than one buffer of the device can
 *                      have (opencl, vulkan). The message has the bytes that
 *                      were asked for, that are in use, and that the device has
 *                      or options.memory_limit allows
 *  @sync waits if device memory is short: for all work on all queues of the
 *        device. It also waits if the device would need more memory while work
 *        that has not run may hold most of it: if since the last such wait more
 *        bytes were handed out than were then in use, and more than 256 MiB.
 *        But not after a call of ssq_semaphore_wait on the device. If the work
 *        waits for this thread, for example for a user event of OpenCL that
 *        the thread sets later, the call does not return */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_buffer_create(ssq_device *device,
                                                    uint64_t bytes,
                                                    ssq_buffer **buffer);

/** Release the caller's reference to a buffer. If no tensor and no enqueued
 *  work holds it, its memory is free for later buffers of the device. It
 *  usually returns to the driver, and to other programs, only with
 *  ssq_device_trim (see there) or when device memory is short.
 *  @param buffer  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync host but a CUDA driver may wait to free a buffer of ssq_buffer_import
 *        (share.h) and, without memory pools, one of more than 32 MiB
 *  @threads object */
SSQ_API void ssq_buffer_destroy(ssq_buffer **buffer);

/** Return the size in bytes that was asked for, or that the imported memory
 *  has; 0 for NULL. */
SSQ_API uint64_t ssq_buffer_bytes(const ssq_buffer *buffer);

/** Create a contiguous tensor with a new buffer, which is not initialized.
 *  @param dtype   one of the first five of ssq_dtype
 *  @param rank    0 to SSQ_MAX_RANK
 *  @param shape   `rank` sizes, each at least 0; may be NULL if rank is 0
 *  @param tensor  out; owned by the caller; release it with
 *                 ssq_tensor_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      dtype is not valid; rank or a size is out of range;
 *                          the product of the sizes other than 0 is 2^60 or
 *                          more, also of an empty tensor; this thread captures
 *                          a graph on the device (graph.h)
 *   - SSQ_ERR_UNSUPPORTED  a host or reserved dtype, for example SSQ_F64
 *   - SSQ_ERR_NOMEM        as ssq_buffer_create
 *  @sync waits as ssq_buffer_create
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_create(ssq_device *device,
                                                    ssq_dtype dtype, int rank,
                                                    const int64_t *shape,
                                                    ssq_tensor **tensor);

/** Create a tensor on a part of a buffer. It holds the buffer.
 *  @param strides  `rank` values in elements, each at least 0; NULL:
 *                  contiguous. A tensor whose elements overlap can only be an
 *                  input of ops. So can one with a stride that is not larger
 *                  than the largest offset that the smaller strides reach. For
 *                  example, shape {2, 3} with strides {3, 2}: 3 < 2 * 2.
 *                  Strides of sizes of 1 do not matter.
 *  @param offset   bytes from the buffer's start; a multiple of the element
 *                  size
 *  @param tensor   out; owned by the caller; release it with
 *                  ssq_tensor_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      dtype, rank or shape as ssq_tensor_create; a stride
 *                          is negative; offset is not a multiple; the tensor
 *                          ends after the buffer; strides that 64 bits cannot
 *                          add up, also of an empty tensor
 *   - SSQ_ERR_UNSUPPORTED  a host or reserved dtype
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_from_buffer(
    ssq_buffer *buffer, ssq_dtype dtype, int rank, const int64_t *shape,
    const int64_t *strides, uint64_t offset, ssq_tensor **tensor);

/** Release a tensor, and its reference to the buffer. Views of it stay valid.
 *  @param tensor  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync host as ssq_buffer_destroy
 *  @threads object */
SSQ_API void ssq_tensor_destroy(ssq_tensor **tensor);

/** Description of a tensor; written by ssq_tensor_desc_get. */
typedef struct ssq_tensor_desc {
    size_t struct_size;
    ssq_dtype dtype;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    int64_t strides[SSQ_MAX_RANK]; /**< elements */
    uint64_t offset;               /**< bytes from the buffer's start */
    int64_t elements;              /**< product of shape; 1 for rank 0 */
    bool contiguous;               /**< dense and row-major, or empty */
} ssq_tensor_desc;
#define SSQ_TENSOR_DESC_INIT                                                   \
    {                                                                          \
        sizeof(ssq_tensor_desc), SSQ_F32, 0, {0}, {0}, 0, 0, false             \
    }

/** Return the description of a tensor.
 *  @param desc  in: struct_size; out: the rest. Unused entries of shape and
 *               strides are 0.
 *  @return as every call */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_desc_get(const ssq_tensor *tensor,
                                                      ssq_tensor_desc *desc);

/** Return the dtype of a tensor; SSQ_F32 for NULL. */
SSQ_API ssq_dtype ssq_tensor_dtype(const ssq_tensor *tensor);
/** Return the rank of a tensor; 0 for NULL. */
SSQ_API int ssq_tensor_rank(const ssq_tensor *tensor);
/** Return the number of elements of a tensor; 0 for NULL. */
SSQ_API int64_t ssq_tensor_elements(const ssq_tensor *tensor);
/** Return the size of dimension i. A negative i counts from the end, for
 *  example -1 is the last dimension.
 *  @return -1 if i is out of range, or tensor is NULL */
SSQ_API int64_t ssq_tensor_size(const ssq_tensor *tensor, int i);
/** Return the device of the tensor's buffer; NULL for NULL. The caller does not
 *  own the result: do not close it. */
SSQ_API ssq_device *ssq_tensor_device(const ssq_tensor *tensor);

/** Create a view of the same elements with another shape.
 *  @param shape  `rank` sizes. One may be -1: it is computed. For example, {-1,
 *                4} of 12 elements is {3, 4}. May be NULL if rank is 0.
 *  @param view   out; owned by the caller; release it with
 *                ssq_tensor_destroy()
 *  @return SSQ_ERR_INVALID  the number of elements differs; the strides need a
 *                           copy, for example after a transpose; rank or shape
 *                           as ssq_tensor_create; more than one -1; -1 with a
 *                           size of 0
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_reshape(const ssq_tensor *tensor,
                                                     int rank,
                                                     const int64_t *shape,
                                                     ssq_tensor **view);

/** Create a view of elements start, start + step, ... below stop of one
 *  dimension. For example, 1, 6 and 2 select elements 1, 3 and 5.
 *  @param axis   a negative axis counts from the end
 *  @param step   at least 1
 *  @param view   out; owned by the caller; release it with
 *                ssq_tensor_destroy()
 *  @return SSQ_ERR_INVALID  axis or step is out of range; 0 <= start <= stop <=
 *                           size does not hold */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_slice(const ssq_tensor *tensor,
                                                   int axis, int64_t start,
                                                   int64_t stop, int64_t step,
                                                   ssq_tensor **view);

/** Create a view with another order of dimensions: dimension i of the view is
 *  dimension axes[i] of the tensor. For example, axes {0, 2, 1} swap the last
 *  two of three.
 *  @param axes   one for each dimension; a negative one counts from the end.
 *                NULL: reverse all dimensions.
 *  @param view   out; owned by the caller; release it with
 *                ssq_tensor_destroy()
 *  @return SSQ_ERR_INVALID  an axis is out of range or occurs twice */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_transpose(const ssq_tensor *tensor,
                                                       const int *axes,
                                                       ssq_tensor **view);

/** Create a view with repeated elements, by NumPy's rules. A dimension of size
 *  1 is repeated (stride 0), and leading dimensions are added. For example, {3,
 *  1} can become {2, 3, 4}. A view with repeated elements can only be an input
 *  of ops.
 *  @param rank   at least the tensor's rank
 *  @param shape  `rank` sizes
 *  @param view   out; owned by the caller; release it with
 *                ssq_tensor_destroy()
 *  @return SSQ_ERR_INVALID  the shapes do not match; rank or shape as
 *                           ssq_tensor_create */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_broadcast(const ssq_tensor *tensor,
                                                       int rank,
                                                       const int64_t *shape,
                                                       ssq_tensor **view);

/** Copy dense row-major elements from host memory into a tensor, and convert
 *  them to its dtype.
 *
 *  To a float dtype, each value is rounded once to nearest even; overflow gives
 *  infinity. To an integer dtype, the value must fit exactly. For example, 0.5,
 *  NaN and 300 do not fit u8. An SSQ_BOOL byte must be 0 or 1.
 *
 *  If a value may not fit, or tensors cannot have the host's dtype, the call
 *  converts on the host. That needs host memory of the tensor's size until the
 *  copy is done. If the device converts, or the tensor is not contiguous, the
 *  copy goes through device memory of the size of the elements.
 *  @param tensor  its elements must not overlap
 *  @param host    at least ssq_tensor_elements(tensor) elements of dtype. The
 *                 caller must not change or free them before a later sync. If
 *                 the call fails, nothing reads them.
 *  @param bytes   size of host; at least the size of the elements. Further
 *                 bytes are not read. Pass sizeof(array), not the tensor's
 *                 size.
 *  @param dtype   dtype of host: any except the reserved ones
 *  @return
 *   - SSQ_ERR_INVALID      host is too small (the message has the bytes needed
 *                          and given); a value does not fit, or a byte of
 *                          SSQ_BOOL is above 1 (the message names the first
 *                          one); host is NULL and the tensor not empty; dtype
 *                          is not valid; elements of tensor overlap; a graph is
 *                          being captured on the queue
 *   - SSQ_ERR_UNSUPPORTED  a reserved dtype
 *   After an error the tensor has not changed, unless the queue has failed. For
 *   example, vulkan copies in pieces of at most 4 MiB. If memory runs out
 *   after the first piece, later calls on the queue return this SSQ_ERR_NOMEM,
 *   too.
 *  @sync async, except that it waits for the queue if a command fails after
 *        another one was enqueued. On cuda a copy from memory that is not
 *        pinned may also wait for earlier work: if it has more than 256 KiB, or
 *        if more than about 1 MiB or 256 smaller copies have not run yet
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_write(ssq_queue *queue,
                                                   const ssq_tensor *tensor,
                                                   const void *host,
                                                   size_t bytes,
                                                   ssq_dtype dtype);

/** Copy a tensor into dense row-major host memory, and convert it to the host's
 *  dtype by the rules of ssq_tensor_write, with the same need of memory. Read
 *  host only after a later sync of the queue, or of an event that was recorded
 *  on it later.
 *  @param host   at least ssq_tensor_elements(tensor) elements of dtype; must
 *                exist until then
 *  @param bytes  size of host; at least the size of the elements. Further bytes
 *                are not written.
 *  @param dtype  dtype of host: any except the reserved ones
 *  @return
 *   - SSQ_ERR_INVALID      as ssq_tensor_write, except that elements of tensor
 *                          may overlap
 *   - SSQ_ERR_UNSUPPORTED  a reserved dtype
 *   If a value does not fit, host has not changed.
 *  @sync waits for all work of the queue, if a value may not fit: from a float
 *        to an integer dtype, or to an integer dtype that lacks values, for
 *        example i32 to u8. On cuda a copy to memory that is not pinned waits,
 *        too, if it has more than 256 KiB, or if more than about 1 MiB or 256
 *        smaller copies of the queue have not run yet. Otherwise async.
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_read(ssq_queue *queue,
                                                  const ssq_tensor *tensor,
                                                  void *host, size_t bytes,
                                                  ssq_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
