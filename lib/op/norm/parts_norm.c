/* SPDX-License-Identifier: Apache-2.0 */
/* parts_norm.c - batch norm of a batch in several parts: on ranks, or pieces of
 * an x that is too large for a launch.
 *
 * Forward: each part has its mean, variance and number of elements; an op with
 * `found` merges all parts and normalises. Backward: each part has its sums of
 * dy and of dy z, which the caller adds; an op with `average` computes dx. The
 * host reads no value of a device. */
#include <sesqui/ops/binary.h>

#include "lib/core/queue/queue.h"
#include "lib/core/core.h"
#include "lib/op/norm/channel_norm.h"

void channel_merge_spatial(struct view **views, int n)
{
    struct view part[4], *parts[4], *whole[4];
    int m = 0;
    for (int k = 0; k < n; k++) {
        if (views[k]->buffer == NULL)
            continue;
        part[m] = view_part(views[k], 2, views[k]->rank);
        parts[m] = &part[m];
        whole[m++] = views[k];
    }
    views_collapse(parts, m); /* turns rank 0 into one dimension */
    for (int k = 0; k < m; k++) {
        whole[k]->rank = 2 + part[k].rank;
        for (int i = 0; i < part[k].rank; i++) {
            whole[k]->shape[2 + i] = part[k].shape[i];
            whole[k]->stride[2 + i] = part[k].stride[i];
        }
    }
}

struct view floats_of(const struct view *v, int64_t at, int64_t n,
                      enum access access)
{
    struct view part = *v;
    part.offset += (uint64_t)at * sizeof(float);
    part.rank = 1;
    part.shape[0] = n;
    part.stride[0] = 1;
    part.access = access;
    return part;
}

static int64_t channels_of(const struct view *x)
{
    return x->shape[1];
}

/* ---- forward ---- */

/* The statistics are computed as running ones with momentum 1 and keep 0,
 * because that gives the variance and not its reciprocal root. Before, own is
 * filled with the count: running values that are multiplied by 0 must be
 * finite. Without elements own is 0, which counts as no part. */
ssq_status part_find(ssq_queue *queue, const struct channel_norm_op *op,
                     const struct view *own, norm_enqueue_fn enqueue)
{
    const int64_t n = channel_elements(&op->x), c = channels_of(&op->x);
    struct channel_norm_op stats = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    stats.population = true;
    stats.keep = 0.0f;
    stats.momentum = 1.0f;
    stats.gamma.buffer = stats.beta.buffer = NULL;
    stats.y.buffer = stats.mean.buffer = stats.rstd.buffer = NULL;
    stats.running_mean = floats_of(own, 0, c, ACCESS_UPDATE);
    stats.rest = floats_of(own, c, c, ACCESS_WRITE);
    stats.running_var = floats_of(own, 2 * c, c, ACCESS_UPDATE);
    st = enqueue_fill(queue, own, (double)n);
    if (st == SSQ_OK && n > 0)
        st = enqueue(queue, &stats);
    return queue_bundle_end(queue, st);
}

/* If x has no elements, it is replaced by a view that is not read, because an
 * op has elements. */
ssq_status parts_merge(ssq_queue *queue, const struct channel_norm_op *op,
                       const struct view *all, norm_enqueue_fn enqueue)
{
    const int64_t c = channels_of(&op->x);
    struct channel_norm_op merged = *op;
    merged.found = *all;
    merged.found.access = ACCESS_READ;
    if (channel_elements(&op->x) == 0) {
        merged.x = floats_of(all, 0, c, ACCESS_READ);
        merged.x.rank = 3;
        merged.x.shape[0] = merged.x.shape[2] = 1;
        merged.x.shape[1] = c;
        merged.x.stride[0] = merged.x.stride[2] = 0;
        merged.x.stride[1] = 1;
        merged.y.buffer = NULL;
    }
    if (merged.y.buffer == NULL && merged.mean.buffer == NULL &&
        merged.rstd.buffer == NULL && merged.running_mean.buffer == NULL)
        return SSQ_OK;
    return enqueue(queue, &merged);
}

/* ---- backward ---- */

/* Sums of dy, sums of dy z and the number of elements follow each other in
 * `sums`. The former are copied to dbeta and dgamma, if present. */
ssq_status part_sums(ssq_queue *queue,
                     const struct channel_norm_backward_op *op,
                     const struct view *sums, gradient_enqueue_fn enqueue)
{
    const int64_t n = channel_elements(&op->x), c = channels_of(&op->x);
    const struct view dy = floats_of(sums, 0, c, ACCESS_READ);
    const struct view dy_z = floats_of(sums, c, c, ACCESS_READ);
    struct channel_norm_backward_op own = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    own.dx.buffer = NULL;
    own.dbeta = floats_of(sums, 0, c, ACCESS_WRITE);
    own.dgamma = floats_of(sums, c, c, ACCESS_WRITE);
    st = enqueue_fill(queue, sums, (double)n);
    if (st == SSQ_OK && n > 0)
        st = enqueue(queue, &own);
    if (st == SSQ_OK && op->dbeta.buffer != NULL)
        st = enqueue_copy(queue, &dy, &op->dbeta);
    if (st == SSQ_OK && op->dgamma.buffer != NULL)
        st = enqueue_copy(queue, &dy_z, &op->dgamma);
    return queue_bundle_end(queue, st);
}

/* Divide the sums by the number of elements, in place, and compute dx. */
ssq_status parts_gradient(ssq_queue *queue,
                          const struct channel_norm_backward_op *op,
                          const struct view *sums, gradient_enqueue_fn enqueue)
{
    const int64_t c = channels_of(&op->x);
    struct view both = floats_of(sums, 0, 2 * c, ACCESS_WRITE);
    struct view n = floats_of(sums, 2 * c, 1, ACCESS_READ);
    const ssq_tensor a = {.view = both}, b = {.view = n}; /* borrowed */
    struct channel_norm_backward_op rest = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    rest.dgamma.buffer = rest.dbeta.buffer = NULL;
    rest.average = floats_of(sums, 0, 2 * c, ACCESS_READ);
    rest.average.rank = 2;
    rest.average.shape[0] = 2;
    rest.average.shape[1] = rest.average.stride[0] = c;
    rest.average.stride[1] = 1;
    st = ssq_div(queue, SSQ_DIV(.a = &a, .b = &b, .y = &a));
    if (st == SSQ_OK)
        st = enqueue(queue, &rest);
    return queue_bundle_end(queue, st);
}
