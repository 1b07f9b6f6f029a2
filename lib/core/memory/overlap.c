/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - views that share bytes of a buffer. */
#include "lib/core/core.h"

/* Return the number of a buffer's memory: an address if the backend says so,
 * otherwise of the native object. */
static uint64_t memory_of(const ssq_buffer *b)
{
    const struct backend *backend = b->device->backend;
    return backend->mem_identity != NULL
               ? backend->mem_identity(b->mem)
               : (uint64_t)(uintptr_t)backend->mem_handle(b->mem);
}

/* Set *at_a and *at_b to the positions of two views, in bytes from a common
 * point. False: their memories are unrelated. Buffers share memory if the
 * caller has lent it more than once, or has lent memory of another buffer. */
static bool overlap_places(const struct view *a, const struct view *b,
                           uint64_t *at_a, uint64_t *at_b)
{
    const ssq_buffer *x = a->buffer, *y = b->buffer;
    *at_a = a->offset;
    *at_b = b->offset;
    if (x == y)
        return true;
    if (x == NULL || y == NULL || x->mem == NULL || y->mem == NULL ||
        x->device != y->device || (!x->lent && !y->lent))
        return false;
    const struct backend *backend = x->device->backend;
    uint64_t in_x = memory_of(x), in_y = memory_of(y);
    *at_a += x->offset;
    *at_b += y->offset;
    if (!backend->mem_addressed)
        return in_x == in_y;
    *at_a += in_x;
    *at_b += in_y;
    return true;
}

/* Dtypes may differ if they have the same size: element i of one is then at the
 * same place as element i of the other. */
bool view_same_place(const struct view *a, const struct view *b)
{
    uint64_t at_a, at_b;
    if (!overlap_places(a, b, &at_a, &at_b) || at_a != at_b ||
        dtype_bytes(a->dtype) != dtype_bytes(b->dtype) ||
        !view_same_shape(a, b))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] > 1 && a->stride[i] != b->stride[i])
            return false;
    return true;
}

/* True if a and b are side by side in the rows of one matrix, for example two
 * column slices. Such views have no common element although their ranges
 * overlap. They must have the same strides, of which the widest is the pitch.
 * Modulo the pitch each view is an interval, and these must not overlap. False
 * if this cannot be decided. */
static bool rows_interleave(const struct view *a, const struct view *b)
{
    if (a->rank < 2 || a->rank != b->rank ||
        dtype_bytes(a->dtype) != dtype_bytes(b->dtype))
        return false;
    /* Strides must be equal, except for sizes of 1; find the widest. */
    int64_t pitch = 0;
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] > 1 && b->shape[i] > 1 && a->stride[i] != b->stride[i])
            return false;
        int64_t s = a->shape[i] > 1 ? a->stride[i] : b->stride[i];
        if ((a->shape[i] > 1 || b->shape[i] > 1) && s > pitch)
            pitch = s;
    }
    if (pitch == 0)
        return false;
    /* The elements of each view in one period of the pitch, as an interval.
     * Dimensions that step by whole pitches do not widen it. */
    uint64_t width[2] = {1, 1};
    const struct view *v[2] = {a, b};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < v[k]->rank; i++) {
            if (v[k]->shape[i] < 2)
                continue;
            if (v[k]->stride[i] % pitch != 0)
                width[k] +=
                    (uint64_t)(v[k]->shape[i] - 1) * (uint64_t)v[k]->stride[i];
        }
    /* In bytes: the start of b's interval in a period that starts with a's. */
    uint64_t size = dtype_bytes(a->dtype), p = (uint64_t)pitch * size;
    uint64_t lo = b->offset >= a->offset
                      ? (b->offset - a->offset) % p
                      : (p - (a->offset - b->offset) % p) % p;
    return lo >= width[0] * size && lo + width[1] * size <= p;
}

bool view_overlap(const struct view *in_a, const struct view *in_b)
{
    struct view va = *in_a, vb = *in_b;
    const struct view *a = &va, *b = &vb;
    if (in_a->buffer == NULL ||
        !overlap_places(in_a, in_b, &va.offset, &vb.offset))
        return false;
    uint64_t sa = view_span(a), sb = view_span(b);
    if (sa == 0 || sb == 0)
        return false;
    if (a->offset + sa <= b->offset || b->offset + sb <= a->offset)
        return false;
    return !rows_interleave(a, b);
}

struct byte_range view_bytes(const struct view *v)
{
    const ssq_buffer *b = v->buffer;
    const struct backend *backend = b->device->backend;
    /* if no memory can be lent, buffers never overlap */
    struct byte_range r = {(uintptr_t)b, v->offset, 0};
    if (backend->mem_handle != NULL) {
        uint64_t memory = memory_of(b);
        r.from += b->offset + (backend->mem_addressed ? memory : 0);
        r.space = backend->mem_addressed ? 0 : (uintptr_t)memory;
    }
    r.to = r.from + view_span(v);
    return r;
}
