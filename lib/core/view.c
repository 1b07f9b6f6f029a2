/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - geometry of operands: extents, overlap, broadcast, collapse. */
#include "lib/core/view.h"

#include "lib/core/core.h"

#include <stdio.h>

/* A scalar, which has rank 0, has 1 element. */
int64_t view_elements(const struct view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->shape[i];
    return n;
}

/* An empty view is contiguous with any strides: no element is elsewhere. */
bool view_contiguous(const struct view *v)
{
    int64_t want = 1;
    for (int i = 0; i < v->rank; i++)
        if (v->shape[i] == 0)
            return true;
    for (int i = v->rank - 1; i >= 0; i--) {
        if (v->shape[i] != 1 && v->stride[i] != want)
            return false;
        want *= v->shape[i];
    }
    return true;
}

uint64_t view_span(const struct view *v)
{
    uint64_t last = 0;
    for (int i = 0; i < v->rank; i++) {
        if (v->shape[i] == 0)
            return 0;
        last += (uint64_t)(v->shape[i] - 1) * (uint64_t)v->stride[i];
    }
    return (last + 1) * dtype_bytes(v->dtype);
}

bool view_same_shape(const struct view *a, const struct view *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

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
static bool places(const struct view *a, const struct view *b, uint64_t *at_a,
                   uint64_t *at_b)
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
    if (!places(a, b, &at_a, &at_b) || at_a != at_b ||
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
    if (in_a->buffer == NULL || !places(in_a, in_b, &va.offset, &vb.offset))
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

bool view_self_overlap(const struct view *v)
{
    /* Sorted by stride, each dimension must step over everything that the
     * smaller ones reach. This is sufficient, not necessary: some odd strides
     * that never meet are reported as overlapping, too. */
    int order[SSQ_MAX_RANK], n = 0;
    for (int i = 0; i < v->rank; i++) {
        if (v->shape[i] == 0)
            return false;
        if (v->shape[i] == 1)
            continue;
        int j = n++;
        for (; j > 0 && v->stride[order[j - 1]] > v->stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    int64_t reach = 0;
    for (int i = 0; i < n; i++) {
        int d = order[i];
        if (v->stride[d] <= reach)
            return true;
        reach += (v->shape[d] - 1) * v->stride[d];
    }
    return false;
}

bool view_broadcast(struct view *v, int rank, const int64_t *shape)
{
    int lead = rank - v->rank;
    if (lead < 0)
        return false;
    struct view r = *v;
    r.rank = rank;
    for (int i = 0; i < rank; i++) {
        int64_t size = i < lead ? 1 : v->shape[i - lead];
        if (size != shape[i] && size != 1)
            return false;
        r.shape[i] = shape[i];
        r.stride[i] = size == shape[i] && i >= lead ? v->stride[i - lead] : 0;
    }
    *v = r;
    return true;
}

char *view_text(const struct view *v, char *buf, size_t bytes)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < v->rank && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%lld",
                               i == 0 ? "[" : ",", (long long)v->shape[i]);
    if (at < bytes)
        snprintf(buf + at, bytes - at, "%s", v->rank == 0 ? "[]" : "]");
    return buf;
}

struct view view_columns(const struct view *v, int64_t from, int64_t n)
{
    struct view part = *v;
    int last = v->rank - 1;
    part.offset += (uint64_t)(from * v->stride[last]) * dtype_bytes(v->dtype);
    part.shape[last] = n;
    return part;
}

/* True if every view can walk dimensions i and i + 1 as one. A step of i must
 * be as long as all of i + 1; this includes strides of 0 in a broadcast. */
static bool mergeable(struct view **v, int n, int i)
{
    for (int k = 0; k < n; k++)
        if (v[k]->stride[i] != v[k]->shape[i + 1] * v[k]->stride[i + 1])
            return false;
    return true;
}

/* Remove dimension i, which has size 1 or was merged into the next one. */
static void drop_dimension(struct view *v, int i)
{
    for (int j = i; j + 1 < v->rank; j++) {
        v->shape[j] = v->shape[j + 1];
        v->stride[j] = v->stride[j + 1];
    }
    v->rank--;
}

void views_collapse(struct view **v, int n)
{
    for (int i = 0; i < v[0]->rank;) {
        if (v[0]->shape[i] != 1) {
            i++;
            continue;
        }
        for (int k = 0; k < n; k++)
            drop_dimension(v[k], i);
    }
    for (int i = v[0]->rank - 2; i >= 0; i--) {
        if (!mergeable(v, n, i))
            continue;
        for (int k = 0; k < n; k++) {
            v[k]->shape[i + 1] *= v[k]->shape[i];
            drop_dimension(v[k], i);
        }
    }
    for (int k = 0; k < n && v[0]->rank == 0; k++) {
        /* From the last view to the first: the loop's condition reads the first
         * view's rank, so that rank is changed last. */
        struct view *w = v[n - 1 - k];
        w->rank = 1;
        w->shape[0] = 1;
        w->stride[0] = 1;
    }
}
