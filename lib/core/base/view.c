/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - geometry of operands: extents, overlap, broadcast, collapse. */
#include "lib/core/base/view.h"

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
