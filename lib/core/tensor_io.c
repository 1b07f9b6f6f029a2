/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_io.c - copies between host memory and tensors.
 *
 * The host side is dense. A tensor that is dense and of the host's dtype is
 * copied as bytes; any other goes through a dense temporary on the device,
 * where the copy or cast is an ordinary op.
 *
 * What devices have no dtype for, or a value may not fit, is converted here: by
 * way of a block of host memory with elements of the tensor's dtype, which the
 * upload or download holds. */
#include "lib/core/host.h"
#include "lib/op/data/data.h"

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
    if (!dtype_on_host(dtype))
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: dtype %s is reserved", what,
                         ssq_dtype_name(dtype));
    if (host == NULL && view_elements(&tensor->view) != 0)
        return error_set(SSQ_ERR_INVALID, "%s: host is NULL", what);
    return check_bytes(&tensor->view, bytes, dtype, what, need);
}

/* True if the host's bytes are those of the tensor, so that one copy does
 * it. */
static bool plain(const struct view *v, ssq_dtype host_dtype)
{
    return v->dtype == host_dtype && view_contiguous(v);
}

/* True if the device can convert, without a look at the values. Where a value
 * may not fit the caller gets an error that names it, for which the host has to
 * look. */
static bool by_device(ssq_dtype from, ssq_dtype to)
{
    return dtype_on_device(from) && dtype_on_device(to) &&
           !host_may_misfit(from, to);
}

/* Dense elements of a tensor's dtype, and where they go once they are there.
 * The op that copies from it or to it holds it until the device has
 * finished. */
struct block {
    struct object object;
    void *host; /* the caller's, elements of host_dtype; only for reading */
    ssq_dtype dtype, host_dtype;
    size_t n;             /* elements */
    unsigned char *bytes; /* n elements of dtype; owned */
};

static void block_free(struct object *o)
{
    struct block *b = (struct block *)o;
    mem_free(b->bytes);
    mem_free(b);
}

static ssq_status block_create(const struct view *v, const char *what,
                               struct block **block)
{
    size_t n = (size_t)view_elements(v);
    struct block *b = mem_alloc(sizeof(*b));
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

/* Refuse the first element that the dtype to does not hold, with its value. */
static ssq_status check_values(const void *src, ssq_dtype from, ssq_dtype to,
                               size_t n, const char *what)
{
    char value[32];
    size_t i = host_misfit(src, from, to, n);
    if (i == n)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: element %llu is %s, no value of %s",
                     what, (unsigned long long)i,
                     host_value(src, from, i, value, sizeof(value)),
                     ssq_dtype_name(from == SSQ_BOOL ? from : to));
}

/* Send dense elements of dtype to a view: at once if they are its bytes, else
 * to scratch, from where a copy converts and scatters them. keep, if any, is
 * held by the upload, and owns the elements. */
static ssq_status send(ssq_queue *queue, const void *host, ssq_dtype dtype,
                       struct object *keep, const struct view *y)
{
    struct view dense = *y, staged = {.buffer = NULL};
    ssq_status st = SSQ_OK;
    if (!plain(y, dtype)) {
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
        if (st != SSQ_OK) { /* nothing may read the caller's memory now */
            ssq_status waited = queue_wait(queue);
            (void)waited;
        }
    }
    scratch_put(&staged);
    return st;
}

/* Convert on the host, then send. All values are checked before anything is
 * enqueued, so that a refused write has changed nothing. */
static ssq_status write_converted(ssq_queue *queue, const struct view *y,
                                  const void *host, ssq_dtype dtype)
{
    size_t n = (size_t)view_elements(y);
    struct block *b;
    ssq_status st = check_values(host, dtype, y->dtype, n, "tensor_write");
    if (st == SSQ_OK)
        st = block_create(y, "tensor_write", &b);
    if (st != SSQ_OK)
        return st;
    host_convert(b->bytes, y->dtype, host, dtype, n, SSQ_ROUND_NEAREST, 0);
    st = send(queue, b->bytes, y->dtype, &b->object, y);
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
    return by_device(dtype, y->dtype) ? send(queue, host, dtype, NULL, y)
                                      : write_converted(queue, y, host, dtype);
}

/* Fetch dense elements of dtype from a view, through scratch where its bytes
 * are not they. When they have arrived landed, if any, is called with keep,
 * which owns the memory at host. */
static ssq_status fetch(ssq_queue *queue, const struct view *x, void *host,
                        ssq_dtype dtype, struct object *keep,
                        void (*landed)(struct object *keep))
{
    struct view dense = *x, staged = {.buffer = NULL};
    ssq_status st = SSQ_OK;
    if (!plain(x, dtype)) {
        st = scratch_get(queue, dtype, x->rank, x->shape, &staged);
        if (st == SSQ_OK)
            st = enqueue_copy(queue, x, &staged);
        dense = staged;
    }
    if (st == SSQ_OK) {
        struct download_op op = download_of(
            &dense, host, (uint64_t)view_elements(x) * dtype_bytes(dtype));
        op.op.keep = keep;
        op.landed = landed;
        st = queue_enqueue(queue, &op.op);
    }
    scratch_put(&staged);
    return st;
}

/* Convert what has arrived for the caller. For values that all fit. */
static void block_landed(struct object *o)
{
    const struct block *b = (const struct block *)o;
    host_convert(b->host, b->host_dtype, b->bytes, b->dtype, b->n,
                 SSQ_ROUND_NEAREST, 0);
}

/* Values that may not fit have to be seen: wait for them. */
static ssq_status read_checked(ssq_queue *queue, const struct view *x,
                               struct block *b)
{
    ssq_status st = fetch(queue, x, b->bytes, x->dtype, &b->object, NULL);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    if (st == SSQ_OK)
        st = check_values(b->bytes, b->dtype, b->host_dtype, b->n,
                          "tensor_read");
    if (st == SSQ_OK)
        block_landed(&b->object);
    return st;
}

/* Read by way of a block, which the download holds beyond this call. */
static ssq_status read_converted(ssq_queue *queue, const struct view *x,
                                 void *host, ssq_dtype dtype)
{
    struct block *b;
    ssq_status st = block_create(x, "tensor_read", &b);
    if (st != SSQ_OK)
        return st;
    b->host = host;
    b->host_dtype = dtype;
    if (host_may_misfit(x->dtype, dtype))
        st = read_checked(queue, x, b);
    else
        st = fetch(queue, x, b->bytes, x->dtype, &b->object, block_landed);
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
    return by_device(x->dtype, dtype) ? fetch(queue, x, host, dtype, NULL, NULL)
                                      : read_converted(queue, x, host, dtype);
}
