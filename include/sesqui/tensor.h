/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - buffers, tensors, views, and copies from and to the host.
 *
 * A buffer is device memory. A tensor is an immutable description (dtype,
 * shape, strides, offset) of part of a buffer; views share the buffer and
 * keep it alive. Shapes and strides are in elements, offsets in bytes.
 * Row-major: the last dimension is the fastest. Rank 0 is a scalar; any
 * dimension may be 0. An enqueued op holds its buffers, so tensors may be
 * destroyed as soon as the call returned. */
#ifndef SESQUI_TENSOR_H
#define SESQUI_TENSOR_H

#include <sesqui/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most dimensions of a tensor. */
#define SSQ_MAX_RANK 6

typedef struct ssq_buffer ssq_buffer;
typedef struct ssq_tensor ssq_tensor;

/** Allocate bytes bytes of device memory, 256-byte aligned, not initialised.
 *  @return SSQ_ERR_NOMEM with bytes asked, in use and the heap's size;
 *          SSQ_ERR_INVALID NULL, or this thread captures a graph on the
 *          device; SSQ_ERR_DEVICE the driver failed.
 *  @note bytes may be 0. May wait for finished work when memory is short. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_buffer_create(ssq_device *device,
                                                    uint64_t bytes,
                                                    ssq_buffer **buffer);

/** Drop the caller's reference; never waits. */
SSQ_API void ssq_buffer_destroy(ssq_buffer **buffer);

/** Size in bytes, as asked for; 0 for NULL. */
SSQ_API uint64_t ssq_buffer_bytes(const ssq_buffer *buffer);

/** Make a contiguous tensor with a buffer of its own, not initialised.
 *  @param rank   0..SSQ_MAX_RANK
 *  @param shape  rank values >= 0; NULL allowed for rank 0
 *  @return SSQ_ERR_INVALID with the values, or this thread captures a graph on
 *          the device; SSQ_ERR_UNSUPPORTED a reserved dtype; SSQ_ERR_NOMEM,
 *          SSQ_ERR_DEVICE as ssq_buffer_create. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_create(ssq_device *device,
                                                    ssq_dtype dtype, int rank,
                                                    const int64_t *shape,
                                                    ssq_tensor **tensor);

/** Describe part of a buffer.
 *  @param strides  rank values in elements, >= 0 (0 repeats an element: legal
 *                  for inputs of ops only); NULL contiguous
 *  @param offset   bytes from the buffer's start; a multiple of the element
 *  @return SSQ_ERR_INVALID the tensor does not fit the buffer, and the rest
 *          as ssq_tensor_create. Holds the buffer. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_from_buffer(
    ssq_buffer *buffer, ssq_dtype dtype, int rank, const int64_t *shape,
    const int64_t *strides, uint64_t offset, ssq_tensor **tensor);

/** Drop the caller's reference; never waits. */
SSQ_API void ssq_tensor_destroy(ssq_tensor **tensor);

/** What a tensor describes; filled by ssq_tensor_desc_get. */
typedef struct ssq_tensor_desc {
    size_t struct_size;
    ssq_dtype dtype;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    int64_t strides[SSQ_MAX_RANK]; /**< elements */
    uint64_t offset;               /**< bytes, in the buffer */
    int64_t elements;              /**< the product of shape */
    bool contiguous;
} ssq_tensor_desc;
#define SSQ_TENSOR_DESC_INIT                                                   \
    {                                                                          \
        sizeof(ssq_tensor_desc), SSQ_F32, 0, {0}, {0}, 0, 0, false             \
    }

/** Everything that a tensor describes, at once.
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_desc_get(const ssq_tensor *tensor,
                                                      ssq_tensor_desc *desc);

/** Single fields, for short code; 0, or SSQ_F32, for NULL. */
SSQ_API ssq_dtype ssq_tensor_dtype(const ssq_tensor *tensor);
SSQ_API int ssq_tensor_rank(const ssq_tensor *tensor);
SSQ_API int64_t ssq_tensor_elements(const ssq_tensor *tensor);
/** Size of dimension i; a negative i counts from the end; -1 if out of
 *  range. */
SSQ_API int64_t ssq_tensor_size(const ssq_tensor *tensor, int i);
/** The device of the tensor's buffer; NULL for NULL. Not a new reference. */
SSQ_API ssq_device *ssq_tensor_device(const ssq_tensor *tensor);

/** The same elements in another shape. One size may be -1: it is worked out.
 *  @return SSQ_ERR_INVALID the element counts differ, or the strides do not
 *          allow it without a copy. A view. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_reshape(const ssq_tensor *tensor,
                                                     int rank,
                                                     const int64_t *shape,
                                                     ssq_tensor **view);

/** Elements start, start + step, ... < stop of one dimension. A negative axis
 *  counts from the end. @param step >= 1
 *  @return SSQ_ERR_INVALID unless 0 <= start <= stop <= size. A view. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_slice(const ssq_tensor *tensor,
                                                   int axis, int64_t start,
                                                   int64_t stop, int64_t step,
                                                   ssq_tensor **view);

/** Dimension i of the view is dimension axes[i] of the tensor; NULL axes
 *  reverse them all. @return SSQ_ERR_INVALID axes is no permutation. A view. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_transpose(const ssq_tensor *tensor,
                                                       const int *axes,
                                                       ssq_tensor **view);

/** Repeat dimensions of size 1 (stride 0) and add leading ones, as NumPy
 *  does. Only for inputs. @return SSQ_ERR_INVALID the shapes do not match. A
 *  view. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_broadcast(const ssq_tensor *tensor,
                                                       int rank,
                                                       const int64_t *shape,
                                                       ssq_tensor **view);

/** Copy dense row-major host elements into a tensor, converting to its dtype.
 *  To a float: rounded once to nearest even, overflow to infinity. To an
 *  integer: the value itself; a value that the tensor's dtype does not hold
 *  (out of range, a fraction, NaN) is an error that names the first such
 *  element and its value, with the tensor untouched. Where that may happen, and
 *  for dtypes that tensors do not have, host is converted at the call, which
 *  takes host memory of the tensor's size until the copy is done.
 *  @param host   ssq_tensor_elements(tensor) elements of dtype; must stay
 *                untouched until a later sync
 *  @param bytes  the size of host: at least the elements', more is fine (what
 *                is behind them stays untouched); `sizeof array`, not the
 *                tensor's own size
 *  @param dtype  of the host's elements: any but the reserved ones
 *  @return SSQ_ERR_INVALID host is too small for the tensor (the text has the
 *          bytes needed and given), a value does not fit, other devices, NULL
 *          host with elements, strides of 0, or a capture; SSQ_ERR_UNSUPPORTED
 *          a reserved dtype; SSQ_ERR_NOMEM no room to convert or for the
 *          staging buffer. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_write(ssq_queue *queue,
                                                   const ssq_tensor *tensor,
                                                   const void *host,
                                                   size_t bytes,
                                                   ssq_dtype dtype);

/** Copy a tensor into dense row-major host memory, converting as
 *  ssq_tensor_write: bytes, dtype and errors likewise. Asynchronous: host may
 *  be read after a later sync (of the queue, or of an event behind it) - but a
 *  read whose values may not fit (float to integer, integer to a narrower one)
 *  waits for the queue and reports; host is untouched if one does not. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tensor_read(ssq_queue *queue,
                                                  const ssq_tensor *tensor,
                                                  void *host, size_t bytes,
                                                  ssq_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
