/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - reductions of operands that are too large for a launch, in
 * pieces. */
#include "lib/op/reduce/pieces.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/window.h"

/* In bytes: a binding may have to begin at a multiple of it, before the
 * view. */
#define ALIGNMENT 256u

/* A window_fn for op_splits(), which only asks whether windows exist. */
static ssq_status pieces_admit(void *user, struct op *op)
{
    (void)user;
    (void)op;
    return SSQ_OK;
}

bool op_splits(ssq_queue *queue, struct op *op)
{
    uint64_t limit = pool_binding_bytes(ssq_queue_device(queue)->pool);
    return window_fits(op, limit) ||
           window_each(op, limit, pieces_admit, NULL) == SSQ_OK;
}

/* Assume that a binding begins as many bytes before the view as possible,
 * because the pieces of a tensor may begin anywhere. */
bool piece_fits(ssq_queue *queue, const struct view *v)
{
    uint64_t limit = pool_binding_bytes(ssq_queue_device(queue)->pool);
    uint64_t bytes = ALIGNMENT - 1;
    return size_add(bytes, view_span(v), &bytes) && bytes <= limit &&
           view_elements(v) <= WINDOW_ELEMENTS;
}

struct pieces pieces_of(const struct view *v, int dim, int64_t k)
{
    struct pieces p = {dim, k, v->shape[dim] / k, v->shape[dim] % k};
    return p;
}

int64_t pieces_count(const struct pieces *p)
{
    return p->full + (p->rest > 0);
}

/* The new first dimension steps by whole pieces. Dimension dim, now one place
 * further, walks within a piece. Only strides change; nothing is copied. The
 * rank must allow one more dimension. */
struct view pieces_full(const struct view *v, const struct pieces *p)
{
    struct view full = *v;
    for (int i = v->rank; i > 0; i--) {
        full.shape[i] = v->shape[i - 1];
        full.stride[i] = v->stride[i - 1];
    }
    full.rank = v->rank + 1;
    full.shape[0] = p->full;
    full.stride[0] = v->stride[p->dim] * p->k;
    full.shape[p->dim + 1] = p->k;
    return full;
}

struct view pieces_rest(const struct view *v, const struct pieces *p)
{
    struct view rest = *v;
    rest.offset +=
        (uint64_t)(p->full * p->k * v->stride[p->dim]) * dtype_bytes(v->dtype);
    rest.shape[p->dim] = p->rest;
    return rest;
}
