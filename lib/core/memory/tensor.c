/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - create tensors and views of them, and query them. */
#include "lib/core/core.h"
#include "lib/core/base/host.h"

/* Views hold the buffer, not the tensor that they were created from. */
static void tensor_free(struct object *o)
{
    ssq_tensor *t = (ssq_tensor *)o;
    if (t->packed != NULL)
        t->packed->drop(t->packed);
    object_put(&t->view.buffer->object);
    mem_free(t);
}

ssq_status tensor_wrap(const struct view *view, ssq_tensor **out)
{
    ssq_tensor *t = mem_alloc(sizeof(*t));
    if (t == NULL)
        return error_nomem("tensor", sizeof(*t));
    object_init(&t->object, tensor_free);
    t->view = *view;
    object_get(&view->buffer->object);
    *out = t;
    return SSQ_OK;
}

ssq_status tensor_layout(const char *what, ssq_dtype dtype, int rank,
                         const int64_t *shape, struct view *v, uint64_t *bytes)
{
    if (ssq_dtype_bits(dtype) == 0)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not a dtype", what,
                         (int)dtype);
    if (!dtype_on_device(dtype))
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: dtype %s is %s", what,
                         ssq_dtype_name(dtype),
                         dtype_on_host(dtype) ? "of host memory alone"
                                              : "reserved");
    if (rank < 0 || rank > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_INVALID, "%s: rank %d is not in 0..%d", what,
                         rank, SSQ_MAX_RANK);
    if (rank > 0 && shape == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: shape is NULL, rank is %d", what,
                         rank);
    v->dtype = dtype;
    v->rank = rank;
    /* The strides of an empty tensor count its empty dimensions as 1. Otherwise
     * a stride could be 0 and look like a broadcast. */
    uint64_t n = 1, stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        if (shape[i] < 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: dimension %d is %lld, negative", what, i,
                             (long long)shape[i]);
        v->shape[i] = shape[i];
        v->stride[i] = (int64_t)stride;
        uint64_t step = shape[i] == 0 ? 1 : (uint64_t)shape[i];
        if (!size_mul(stride, step, &stride) ||
            stride > INT64_MAX / sizeof(double))
            return error_set(SSQ_ERR_INVALID,
                             "%s: dimension %d of %lld elements makes it "
                             "larger than 64 bits can count",
                             what, i, (long long)shape[i]);
        n *= (uint64_t)shape[i];
    }
    *bytes = n * dtype_bytes(dtype);
    return SSQ_OK;
}

ssq_status tensor_create(ssq_device *device, ssq_dtype dtype, int rank,
                         const int64_t *shape, ssq_tensor **out)
{
    struct view v = {0};
    uint64_t bytes;
    ssq_status st =
        tensor_layout("tensor_create", dtype, rank, shape, &v, &bytes);
    if (st != SSQ_OK)
        return st;
    st = buffer_create(device, bytes, &v.buffer);
    if (st != SSQ_OK)
        return st;
    st = tensor_wrap(&v, out);
    object_put(&v.buffer->object);
    return st;
}

/* Replace the strides, unless they are NULL, and check that the view stays
 * inside its buffer. A dimension of one element may have any stride, because
 * the stride is never used. The check itself must not overflow, or a huge
 * stride would look small. */
static ssq_status restride(const char *what, struct view *v,
                           const int64_t *strides)
{
    uint64_t last = 0;
    bool empty = false;
    for (int i = 0; i < v->rank; i++) {
        if (strides != NULL && strides[i] < 0)
            return error_set(SSQ_ERR_INVALID, "%s: stride %d is %lld, negative",
                             what, i, (long long)strides[i]);
        if (strides != NULL)
            v->stride[i] = strides[i];
        empty = empty || v->shape[i] == 0;
        uint64_t reach = 0;
        if (v->shape[i] > 1 && (!size_mul((uint64_t)v->shape[i] - 1,
                                          (uint64_t)v->stride[i], &reach) ||
                                !size_add(last, reach, &last)))
            return error_set(SSQ_ERR_INVALID,
                             "%s: stride %d of %lld overflows 64 bits", what, i,
                             (long long)v->stride[i]);
    }
    uint64_t size = dtype_bytes(v->dtype), bytes = 0, end = v->offset;
    if (!empty && (!size_add(last, 1, &last) || !size_mul(last, size, &bytes) ||
                   !size_add(v->offset, bytes, &end)))
        end = UINT64_MAX;
    if (end > v->buffer->bytes)
        return error_set(
            SSQ_ERR_INVALID, "%s: ends at byte %llu of a buffer of %llu", what,
            (unsigned long long)end, (unsigned long long)v->buffer->bytes);
    return SSQ_OK;
}

ssq_status tensor_over(const char *what, ssq_buffer *buffer, ssq_dtype dtype,
                       int rank, const int64_t *shape, const int64_t *strides,
                       uint64_t offset, ssq_tensor **tensor)
{
    struct view v = {0};
    uint64_t bytes;
    ssq_status st = tensor_layout(what, dtype, rank, shape, &v, &bytes);
    if (st != SSQ_OK)
        return st;
    if (offset % dtype_bytes(dtype) != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: offset %llu is not a multiple of %zu, the size "
                         "of %s",
                         what, (unsigned long long)offset, dtype_bytes(dtype),
                         ssq_dtype_name(dtype));
    v.buffer = buffer;
    v.offset = offset;
    st = restride(what, &v, strides);
    return st != SSQ_OK ? st : tensor_wrap(&v, tensor);
}

ssq_status ssq_tensor_from_buffer(ssq_buffer *buffer, ssq_dtype dtype, int rank,
                                  const int64_t *shape, const int64_t *strides,
                                  uint64_t offset, ssq_tensor **tensor)
{
    static const char what[] = "tensor_from_buffer";
    if (buffer == NULL || tensor == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         buffer == NULL ? "buffer" : "tensor");
    return tensor_over(what, buffer, dtype, rank, shape, strides, offset,
                       tensor);
}

void ssq_tensor_destroy(ssq_tensor **tensor)
{
    if (tensor == NULL || *tensor == NULL)
        return;
    object_put(&(*tensor)->object);
    *tensor = NULL;
}

struct view tensor_view(const ssq_tensor *tensor, enum access access)
{
    struct view v = {0};
    if (tensor != NULL)
        v = tensor->view;
    v.access = access;
    return v;
}

ssq_status ssq_tensor_desc_get(const ssq_tensor *tensor, ssq_tensor_desc *desc)
{
    if (tensor == NULL || desc == NULL)
        return error_set(SSQ_ERR_INVALID, "tensor_desc_get: %s is NULL",
                         tensor == NULL ? "tensor" : "desc");
    if (desc->struct_size != sizeof(*desc))
        return error_set(SSQ_ERR_INVALID,
                         "tensor_desc_get: struct_size is %zu, expected %zu",
                         desc->struct_size, sizeof(*desc));
    const struct view *v = &tensor->view;
    *desc = (ssq_tensor_desc){.struct_size = sizeof(*desc),
                              .dtype = v->dtype,
                              .rank = v->rank,
                              .offset = v->offset,
                              .elements = view_elements(v),
                              .contiguous = view_contiguous(v)};
    for (int i = 0; i < v->rank; i++) {
        desc->shape[i] = v->shape[i];
        desc->strides[i] = v->stride[i];
    }
    return SSQ_OK;
}

ssq_dtype ssq_tensor_dtype(const ssq_tensor *tensor)
{
    return tensor == NULL ? SSQ_F32 : tensor->view.dtype;
}

int ssq_tensor_rank(const ssq_tensor *tensor)
{
    return tensor == NULL ? 0 : tensor->view.rank;
}

int64_t ssq_tensor_elements(const ssq_tensor *tensor)
{
    return tensor == NULL ? 0 : view_elements(&tensor->view);
}

int64_t ssq_tensor_size(const ssq_tensor *tensor, int i)
{
    if (tensor == NULL)
        return -1;
    int rank = tensor->view.rank;
    if (i < -rank || i >= rank)
        return -1;
    return tensor->view.shape[i < 0 ? i + rank : i];
}

ssq_device *ssq_tensor_device(const ssq_tensor *tensor)
{
    return tensor == NULL ? NULL : tensor->view.buffer->device;
}

/* Check the arguments that all view functions have. */
static ssq_status view_begin(const ssq_tensor *t, ssq_tensor **out,
                             const char *what)
{
    if (t == NULL || out == NULL)
        return error_set(SSQ_ERR_INVALID, "tensor_%s: %s is NULL", what,
                         t == NULL ? "tensor" : "view");
    return SSQ_OK;
}

/* Copy a shape, and replace at most one -1 by the missing size. The result must
 * have as many elements as from. The product is bounded before each
 * multiplication. -1 beside a dimension of 0 is ambiguous, and is refused. */
static ssq_status tensor_resolve(const struct view *from, int rank,
                                 const int64_t *shape, int64_t *out)
{
    int64_t n = view_elements(from), known = 1;
    int open = -1;
    for (int i = 0; i < rank; i++) {
        out[i] = shape[i];
        if (shape[i] == -1 && open < 0)
            open = i;
        else if (shape[i] < 0)
            return error_set(SSQ_ERR_INVALID,
                             "tensor_reshape: dimension %d is %lld", i,
                             (long long)shape[i]);
        else if (shape[i] != 0 && known > INT64_MAX / 8 / shape[i])
            return error_set(SSQ_ERR_INVALID,
                             "tensor_reshape: dimension %d of %lld overflows",
                             i, (long long)shape[i]);
        else
            known *= shape[i];
    }
    if (open >= 0 && known != 0 && n % known == 0) {
        out[open] = n / known;
        known = n;
    }
    char text[128];
    if (known != n || (open >= 0 && out[open] < 0))
        return error_set(SSQ_ERR_INVALID,
                         "tensor_reshape: %s has %lld elements, the new shape "
                         "%lld",
                         view_text(from, text, sizeof(text)), (long long)n,
                         (long long)known);
    return SSQ_OK;
}

/* Set r's strides so that its shape covers the elements of v; false: a copy is
 * needed. v is collapsed first, so that each of its dimensions is a longest
 * evenly strided run. Then the new dimensions are fitted into these runs, from
 * the last one on. Each must divide the rest of its run, since no dimension can
 * span two runs. */
static bool reshape_strides(const struct view *v, struct view *r)
{
    struct view old = *v;
    struct view *p = &old;
    views_collapse(&p, 1);
    int j = old.rank - 1;
    int64_t left = old.shape[j], stride = old.stride[j];
    for (int i = r->rank - 1; i >= 0; i--) {
        if (r->shape[i] == 1) {
            r->stride[i] = stride;
            continue;
        }
        if (left == 1) {
            if (j == 0)
                return false;
            j--;
            left = old.shape[j];
            stride = old.stride[j];
        }
        if (left % r->shape[i] != 0)
            return false;
        r->stride[i] = stride;
        stride *= r->shape[i];
        left /= r->shape[i];
    }
    return true;
}

ssq_status ssq_tensor_reshape(const ssq_tensor *tensor, int rank,
                              const int64_t *shape, ssq_tensor **view)
{
    ssq_status st = view_begin(tensor, view, "reshape");
    if (st != SSQ_OK)
        return st;
    if (rank < 0 || rank > SSQ_MAX_RANK || (rank > 0 && shape == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "tensor_reshape: rank %d is not in 0..%d or shape is "
                         "NULL",
                         rank, SSQ_MAX_RANK);
    int64_t sizes[SSQ_MAX_RANK];
    struct view r = tensor->view;
    st = tensor_resolve(&tensor->view, rank, shape, sizes);
    if (st != SSQ_OK)
        return st;
    uint64_t bytes;
    st = tensor_layout("tensor_reshape", r.dtype, rank, sizes, &r, &bytes);
    if (st != SSQ_OK)
        return st;
    char text[128];
    if (bytes != 0 && !view_contiguous(&tensor->view) &&
        !reshape_strides(&tensor->view, &r))
        return error_set(SSQ_ERR_INVALID,
                         "tensor_reshape: the strides of %s need a copy",
                         view_text(&tensor->view, text, sizeof(text)));
    return tensor_wrap(&r, view);
}

ssq_status ssq_tensor_slice(const ssq_tensor *tensor, int axis, int64_t start,
                            int64_t stop, int64_t step, ssq_tensor **view)
{
    ssq_status st = view_begin(tensor, view, "slice");
    if (st == SSQ_OK)
        st = check_axis(axis, tensor->view.rank, "tensor_slice", &axis);
    if (st != SSQ_OK)
        return st;
    struct view v = tensor->view;
    if (start < 0 || stop < start || stop > v.shape[axis] || step < 1)
        return error_set(SSQ_ERR_INVALID,
                         "tensor_slice: %lld:%lld:%lld of dimension %d with "
                         "%lld elements",
                         (long long)start, (long long)stop, (long long)step,
                         axis, (long long)v.shape[axis]);
    int64_t n = stop - start;
    n = n / step + (n % step != 0);
    /* A slice of no elements keeps the tensor's offset: that of a slice which
     * begins past the last element would be outside of the buffer. */
    bool empty = n == 0 || view_elements(&v) == 0;
    if (!empty)
        v.offset +=
            (uint64_t)start * (uint64_t)v.stride[axis] * dtype_bytes(v.dtype);
    v.shape[axis] = n;
    if (n > 1 && !empty)
        v.stride[axis] *= step;
    return tensor_wrap(&v, view);
}

/* Without axes, reverse the order of the dimensions. seen has a bit for each
 * axis that was found, to check that axes is a permutation. */
ssq_status ssq_tensor_transpose(const ssq_tensor *tensor, const int *axes,
                                ssq_tensor **view)
{
    ssq_status st = view_begin(tensor, view, "transpose");
    if (st != SSQ_OK)
        return st;
    const struct view *t = &tensor->view;
    struct view v = *t;
    unsigned seen = 0;
    for (int i = 0; i < t->rank; i++) {
        int a = axes == NULL ? t->rank - 1 - i : axes[i];
        st = check_axis(a, t->rank, "tensor_transpose", &a);
        if (st != SSQ_OK)
            return st;
        if ((seen >> a & 1) != 0)
            return error_set(SSQ_ERR_INVALID,
                             "tensor_transpose: axis %d appears twice", a);
        seen |= 1u << a;
        v.shape[i] = t->shape[a];
        v.stride[i] = t->stride[a];
    }
    return tensor_wrap(&v, view);
}

ssq_status ssq_tensor_broadcast(const ssq_tensor *tensor, int rank,
                                const int64_t *shape, ssq_tensor **view)
{
    ssq_status st = view_begin(tensor, view, "broadcast");
    if (st != SSQ_OK)
        return st;
    struct view v = tensor->view, target = {0};
    uint64_t bytes;
    st = tensor_layout("tensor_broadcast", v.dtype, rank, shape, &target,
                       &bytes);
    if (st != SSQ_OK)
        return st;
    char from[128], to[128];
    if (!view_broadcast(&v, rank, target.shape))
        return error_set(SSQ_ERR_INVALID, "tensor_broadcast: %s to %s",
                         view_text(&v, from, sizeof(from)),
                         view_text(&target, to, sizeof(to)));
    return tensor_wrap(&v, view);
}
