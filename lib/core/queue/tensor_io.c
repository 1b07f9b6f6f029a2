/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_io.c - copies between host memory and tensors.
 *
 * The host side is dense. If the tensor is dense, too, and has the host's
 * dtype, it is copied as bytes. Otherwise it goes through a dense temporary on
 * the device, where the copy or cast is an ordinary op.
 *
 * Two kinds of conversion run on the host: for dtypes that devices do not have,
 * and for values that may not fit. They use a block of host memory with
 * elements of the tensor's dtype, which the upload or download holds. */
#include "lib/core/base/host.h"
#include "lib/core/core.h"

/* Set *need to the bytes of the view's elements in dtype, and check that the
 * host memory of `bytes` bytes is large enough. */
static ssq_status tensor_io_check_bytes(const struct view *v, size_t bytes,
                                        ssq_dtype dtype, const char *what,
                                        uint64_t *need)
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

/* Check the arguments of a write or a read. Sets *need as
 * tensor_io_check_bytes() does.
 */
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
        return error_set(SSQ_ERR_INVALID, "%s: %d is not a dtype", what,
                         (int)dtype);
    if (!dtype_on_host(dtype))
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: dtype %s is reserved", what,
                         ssq_dtype_name(dtype));
    if (host == NULL && view_elements(&tensor->view) != 0)
        return error_set(SSQ_ERR_INVALID, "%s: host is NULL", what);
    return tensor_io_check_bytes(&tensor->view, bytes, dtype, what, need);
}

/* True if the host and the tensor have the same bytes, so that one copy is
 * enough. */
static bool tensor_io_plain(const struct view *v, ssq_dtype host_dtype)
{
    return v->dtype == host_dtype && view_contiguous(v);
}

/* True if the device can convert without an inspection of the values. If a
 * value may not fit, the host must inspect the values, so that the error can
 * name it. */
static bool by_device(ssq_dtype from, ssq_dtype to)
{
    return dtype_on_device(from) && dtype_on_device(to) &&
           !host_may_misfit(from, to);
}

/* Dense elements of a tensor's dtype, and the destination of the converted
 * elements. The op that copies from or to the block holds it until the device
 * has finished. */
struct tensor_io_block {
    struct object object;
    void *host; /* owned by the caller; of host_dtype; for reads only */
    ssq_dtype dtype, host_dtype;
    size_t n;             /* elements */
    unsigned char *bytes; /* n elements of dtype; owned */
};

static void block_free(struct object *o)
{
    struct tensor_io_block *b = (struct tensor_io_block *)o;
    mem_free(b->bytes);
    mem_free(b);
}

static ssq_status block_create(const struct view *v, const char *what,
                               struct tensor_io_block **block)
{
    size_t n = (size_t)view_elements(v);
    struct tensor_io_block *b = mem_alloc(sizeof(*b));
    unsigned char *bytes = mem_alloc_array(n, dtype_bytes(v->dtype));
    if (b == NULL || bytes == NULL) {
        mem_free(b);
        mem_free(bytes);
        return error_nomem(what, n * dtype_bytes(v->dtype));
    }
    object_init(&b->object, block_free);
    b->dtype = v->dtype;
    b->n = n;
    b->bytes = bytes;
    *block = b;
    return SSQ_OK;
}

/* Refuse the first element that does not fit into dtype `to`; name its value.
 */
static ssq_status tensor_io_check_values(const void *src, ssq_dtype from,
                                         ssq_dtype to, size_t n,
                                         const char *what)
{
    char value[32];
    size_t i = host_misfit(src, from, to, n);
    if (i == n)
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID, "%s: element %llu is %s, which %s cannot hold", what,
        (unsigned long long)i, host_value(src, from, i, value, sizeof(value)),
        ssq_dtype_name(from == SSQ_BOOL ? from : to));
}

/* Send dense elements of dtype to a view, directly if the bytes are the same.
 * Otherwise send them to scratch, from which a copy converts and scatters them.
 * keep, if not NULL, owns the elements; the upload holds it. */
static ssq_status tensor_io_send(ssq_queue *queue, const void *host,
                                 ssq_dtype dtype, struct object *keep,
                                 const struct view *y)
{
    struct view dense = *y, staged = {.buffer = NULL};
    ssq_status st = SSQ_OK;
    if (!tensor_io_plain(y, dtype)) {
        st = scratch_get(queue, dtype, y->rank, y->shape, &staged);
        dense = staged;
    }
    if (st != SSQ_OK)
        return st;
    struct upload_op op = upload_of(
        &dense, host, (uint64_t)view_elements(y) * dtype_bytes(dtype));
    op.op.keep = keep;
    st = queue_enqueue(queue, &op.op);
    if (st == SSQ_OK && staged.buffer != NULL) {
        st = enqueue_copy(queue, &staged, y);
        if (st != SSQ_OK) { /* the upload must not outlive this call */
            ssq_status waited = queue_wait(queue);
            (void)waited;
        }
    }
    scratch_put(&staged);
    return st;
}

/* Convert on the host, then send. All values are checked before anything is
 * enqueued, so that a refused write changes nothing. */
static ssq_status write_converted(ssq_queue *queue, const struct view *y,
                                  const void *host, ssq_dtype dtype)
{
    size_t n = (size_t)view_elements(y);
    struct tensor_io_block *b;
    ssq_status st =
        tensor_io_check_values(host, dtype, y->dtype, n, "tensor_write");
    if (st == SSQ_OK)
        st = block_create(y, "tensor_write", &b);
    if (st != SSQ_OK)
        return st;
    host_convert(b->bytes, y->dtype, host, dtype, n, SSQ_ROUND_NEAREST, 0);
    st = tensor_io_send(queue, b->bytes, y->dtype, &b->object, y);
    object_put(&b->object);
    return st;
}

ssq_status ssq_tensor_write(ssq_queue *queue, const ssq_tensor *tensor,
                            const void *host, size_t bytes, ssq_dtype dtype)
{
    uint64_t need;
    ssq_status st =
        check_io(queue, tensor, host, bytes, dtype, "tensor_write", &need);
    if (st == SSQ_OK)
        st = check_output(queue, tensor, "tensor_write", "tensor");
    if (st != SSQ_OK || need == 0)
        return st;
    const struct view *y = &tensor->view;
    return by_device(dtype, y->dtype)
               ? tensor_io_send(queue, host, dtype, NULL, y)
               : write_converted(queue, y, host, dtype);
}

/* Fetch dense elements of dtype from a view, through scratch if its bytes
 * differ. When they have arrived, arrived, if not NULL, is called with keep,
 * which owns the memory at host. */
static ssq_status tensor_io_fetch(ssq_queue *queue, const struct view *x,
                                  void *host, ssq_dtype dtype,
                                  struct object *keep,
                                  void (*arrived)(struct object *keep))
{
    struct view dense = *x, staged = {.buffer = NULL};
    ssq_status st = SSQ_OK;
    if (!tensor_io_plain(x, dtype)) {
        bool recorded;
        st = queue_recorded(queue, &recorded);
        if (st == SSQ_OK && recorded)
            st = error_set(SSQ_ERR_INVALID,
                           "tensor_read: the program captures the queue's "
                           "stream");
        if (st == SSQ_OK)
            st = scratch_get(queue, dtype, x->rank, x->shape, &staged);
        if (st == SSQ_OK)
            st = enqueue_copy(queue, x, &staged);
        dense = staged;
    }
    if (st == SSQ_OK) {
        struct download_op op = download_of(
            &dense, host, (uint64_t)view_elements(x) * dtype_bytes(dtype));
        op.op.keep = keep;
        op.arrived = arrived;
        st = queue_enqueue(queue, &op.op);
    }
    scratch_put(&staged);
    return st;
}

/* Convert elements that have arrived, for the caller. All of them must fit. */
static void block_arrived(struct object *o)
{
    const struct tensor_io_block *b = (const struct tensor_io_block *)o;
    host_convert(b->host, b->host_dtype, b->bytes, b->dtype, b->n,
                 SSQ_ROUND_NEAREST, 0);
}

/* Wait for values that may not fit, and check them. */
static ssq_status read_checked(ssq_queue *queue, const struct view *x,
                               struct tensor_io_block *b)
{
    ssq_status st =
        tensor_io_fetch(queue, x, b->bytes, x->dtype, &b->object, NULL);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    if (st == SSQ_OK)
        st = tensor_io_check_values(b->bytes, b->dtype, b->host_dtype, b->n,
                                    "tensor_read");
    if (st == SSQ_OK)
        block_arrived(&b->object);
    return st;
}

/* Read through a block, which the download still holds after this call. */
static ssq_status read_converted(ssq_queue *queue, const struct view *x,
                                 void *host, ssq_dtype dtype)
{
    struct tensor_io_block *b;
    ssq_status st = block_create(x, "tensor_read", &b);
    if (st != SSQ_OK)
        return st;
    b->host = host;
    b->host_dtype = dtype;
    if (host_may_misfit(x->dtype, dtype))
        st = read_checked(queue, x, b);
    else
        st = tensor_io_fetch(queue, x, b->bytes, x->dtype, &b->object,
                             block_arrived);
    object_put(&b->object);
    return st;
}

ssq_status ssq_tensor_read(ssq_queue *queue, const ssq_tensor *tensor,
                           void *host, size_t bytes, ssq_dtype dtype)
{
    uint64_t need;
    ssq_status st =
        check_io(queue, tensor, host, bytes, dtype, "tensor_read", &need);
    if (st != SSQ_OK || need == 0)
        return st;
    const struct view *x = &tensor->view;
    return by_device(x->dtype, dtype)
               ? tensor_io_fetch(queue, x, host, dtype, NULL, NULL)
               : read_converted(queue, x, host, dtype);
}
