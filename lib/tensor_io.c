/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_io.c - copies between host memory and tensors.
 *
 * The host side is dense. A tensor that is dense and of the host's dtype is
 * copied as bytes; any other goes through a dense temporary on the device,
 * where the copy or cast is an ordinary op. */
#include "lib/op/data.h"

#include <string.h>

ssq_status queue_upload(ssq_queue *queue, const struct view *dst,
                        const void *host, uint64_t bytes)
{
    struct upload_op op = {.op = OP_HEADER(upload, dst),
                           .host = host,
                           .bytes = bytes,
                           .dst = *dst};
    op.dst.access = ACCESS_WRITE;
    return bytes == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

ssq_status queue_upload_now(ssq_queue *queue, const struct view *dst,
                            const void *bytes_at_call, uint64_t bytes)
{
    struct upload_op op = {
        .op = OP_HEADER(upload, dst), .bytes = bytes, .dst = *dst};
    if (bytes > UPLOAD_INLINE)
        return error_set(SSQ_ERR_INVALID, "upload: %llu bytes at once",
                         (unsigned long long)bytes);
    if (bytes == 0)
        return SSQ_OK;
    memcpy(op.inlined, bytes_at_call, bytes);
    op.dst.access = ACCESS_WRITE;
    return queue_enqueue(queue, &op.op);
}

ssq_status queue_download(ssq_queue *queue, const struct view *src, void *host,
                          uint64_t bytes)
{
    struct download_op op = {.op = OP_HEADER(download, src),
                             .host = host,
                             .bytes = bytes,
                             .src = *src};
    op.src.access = ACCESS_READ;
    return bytes == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

/* *need is what the view's elements take in dtype; bytes must hold them. */
static ssq_status check_bytes(const struct view *v, size_t bytes,
                              ssq_dtype dtype, const char *what, uint64_t *need)
{
    int64_t n = view_elements(v); /* below 2^60: bytes do not overflow */
    *need = (uint64_t)n * dtype_bytes(dtype);
    if (*need <= bytes)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %lld elements of %s are %llu bytes, host has %llu",
                     what, (long long)n, ssq_dtype_name(dtype),
                     (unsigned long long)*need, (unsigned long long)bytes);
}

/* What write and read refuse alike; *need as check_bytes. */
static ssq_status check_io(ssq_queue *queue, const ssq_tensor *tensor,
                           const void *host, size_t bytes, ssq_dtype dtype,
                           const char *what, uint64_t *need)
{
    ssq_status st = queue_check(queue, what);
    if (st == SSQ_OK)
        st = check_operand(queue, tensor, what, "tensor");
    if (st != SSQ_OK)
        return st;
    if (queue_capturing(queue))
        return error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                         what);
    if (ssq_dtype_bits(dtype) == 0)
        return error_set(SSQ_ERR_INVALID, "%s: %d is no dtype", what,
                         (int)dtype);
    if (dtype > SSQ_U8)
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: dtype %s is reserved", what,
                         ssq_dtype_name(dtype));
    if (host == NULL && view_elements(&tensor->view) != 0)
        return error_set(SSQ_ERR_INVALID, "%s: host is NULL", what);
    return check_bytes(&tensor->view, bytes, dtype, what, need);
}

static bool plain(const struct view *v, ssq_dtype host_dtype)
{
    return v->dtype == host_dtype && view_contiguous(v);
}

ssq_status ssq_tensor_write(ssq_queue *queue, const ssq_tensor *tensor,
                            const void *host, size_t bytes, ssq_dtype dtype)
{
    uint64_t need;
    ssq_status st =
        check_io(queue, tensor, host, bytes, dtype, "tensor_write", &need);
    if (st == SSQ_OK)
        st = check_output(queue, tensor, "tensor_write", "tensor");
    if (st != SSQ_OK)
        return st;
    const struct view *y = &tensor->view;
    if (need == 0 || plain(y, dtype))
        return queue_upload(queue, y, host, need);
    struct view staged;
    st = scratch_get(queue, dtype, y->rank, y->shape, &staged);
    if (st != SSQ_OK)
        return st;
    st = queue_upload(queue, &staged, host, need);
    if (st == SSQ_OK)
        st = enqueue_copy(queue, &staged, y);
    scratch_put(&staged);
    return st;
}

ssq_status ssq_tensor_read(ssq_queue *queue, const ssq_tensor *tensor,
                           void *host, size_t bytes, ssq_dtype dtype)
{
    uint64_t need;
    ssq_status st =
        check_io(queue, tensor, host, bytes, dtype, "tensor_read", &need);
    if (st != SSQ_OK)
        return st;
    const struct view *x = &tensor->view;
    if (need == 0 || plain(x, dtype))
        return queue_download(queue, x, host, need);
    struct view staged;
    st = scratch_get(queue, dtype, x->rank, x->shape, &staged);
    if (st != SSQ_OK)
        return st;
    st = enqueue_copy(queue, x, &staged);
    if (st == SSQ_OK)
        st = queue_download(queue, &staged, host, need);
    scratch_put(&staged);
    return st;
}
