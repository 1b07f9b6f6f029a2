/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_norm.c - batch norm whose statistics are those of all ranks' elements.
 *
 * Forward: each rank finds mean and variance of its own elements, all ranks get
 * all of them and the numbers of elements, and an op with `found` joins and
 * normalises. Backward: each rank's sums of dy and of dy z are added over
 * ranks, and an op with `average` makes dx. What is before a collective only
 * writes scratch, but for dgamma and dbeta; no value of a device is read by the
 * host. */
#include <sesqui/ops/binary.h>

#include "lib/core/queue.h"
#include "lib/op/data/data.h"
#include "lib/op/norm/channel_norm.h"

#include <string.h>

bool ranks_norm(const struct channel_norm_call *call)
{
    return call->comm != NULL && !call->given && ssq_comm_size(call->comm) > 1;
}

/* The collectives themselves refuse a capture, but behind ops of ours, which
 * would be left in the graph. Those of NCCL can be in one. A dry capture only
 * asks for ops: it passes collectives over. */
static bool captures(const ssq_queue *queue, const ssq_comm *comm)
{
    return capture_dry(queue) || strcmp(ssq_comm_transport(comm), "nccl") == 0;
}

ssq_status ranks_check(const ssq_queue *queue,
                       const struct channel_norm_call *call)
{
    if (call->comm == NULL || call->given)
        return SSQ_OK;
    const ssq_device *on = ssq_comm_device(call->comm);
    const ssq_device *here = ssq_queue_device(queue);
    if (on != here)
        return error_set(SSQ_ERR_INVALID,
                         "%s: rank %u of comm is on another device, %s, than "
                         "the queue, on %s",
                         call->name, ssq_comm_rank(call->comm), on->props.name,
                         here->props.name);
    if (call->dy != NULL && call->mean == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: mean and rstd are NULL: with comm they are those "
                         "that the forward call told",
                         call->name);
    if (ranks_norm(call) && queue_capturing(queue) &&
        !captures(queue, call->comm))
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured: it cannot have a "
                         "collective of comm",
                         call->name);
    return ssq_comm_status(call->comm);
}

/* Elements at .. at + n of a contiguous view of float32, as [n]. */
static struct view part_of(const struct view *v, int64_t at, int64_t n,
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

/* A tensor of a view, which a call may be given: it takes no reference. */
static ssq_tensor tensor_of(const struct view *v)
{
    return (ssq_tensor){.view = *v};
}

/* How many elements of a channel are in x. */
static int64_t count_of(const struct view *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= i == 1 ? 1 : x->shape[i];
    return n;
}

static int64_t channels_of(const struct view *x)
{
    return x->shape[1];
}

/* ---- forward ---- */

/* This rank's statistics, as one of `found`. They come as running ones that
 * move all the way, from numbers which are finite: the variance itself, and not
 * its reciprocal root. Without elements they are zeros, which count as none. */
static ssq_status find_own(ssq_queue *queue, const struct channel_norm_op *op,
                           const struct view *own)
{
    const int64_t n = count_of(&op->x), c = channels_of(&op->x);
    struct channel_norm_op stats = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    stats.population = true;
    stats.keep = 0.0f;
    stats.momentum = 1.0f;
    stats.gamma.buffer = stats.beta.buffer = NULL;
    stats.y.buffer = stats.mean.buffer = stats.rstd.buffer = NULL;
    stats.running_mean = part_of(own, 0, c, ACCESS_UPDATE);
    stats.running_var = part_of(own, c, c, ACCESS_UPDATE);
    st = enqueue_fill(queue, own, (double)n);
    if (st == SSQ_OK && n > 0)
        st = queue_enqueue(queue, &stats.op);
    return queue_bundle_end(queue, st);
}

/* Join what all have found, and normalise. An x without elements gives way to
 * one that is not read, since an op has elements. */
static ssq_status merge(ssq_queue *queue, const struct channel_norm_op *op,
                        const struct view *all)
{
    const int64_t c = channels_of(&op->x);
    struct channel_norm_op merged = *op;
    merged.found = *all;
    merged.found.access = ACCESS_READ;
    if (count_of(&op->x) == 0) {
        merged.x = part_of(all, 0, c, ACCESS_READ);
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
    return queue_enqueue(queue, &merged.op);
}

/* Every rank's, one behind the other. */
static ssq_status gather(ssq_queue *queue, ssq_comm *comm,
                         const struct view *own, const struct view *all)
{
    const ssq_tensor x = tensor_of(own), y = tensor_of(all);
    if (capture_dry(queue))
        return SSQ_OK;
    return ssq_comm_all_gather(
        queue, comm,
        SSQ_COMM_ALL_GATHER(.x = &x, .y = &y, .tag = "batch_norm"));
}

ssq_status ranks_forward(ssq_queue *queue, const struct channel_norm_call *call,
                         const struct channel_norm_op *op)
{
    const int64_t c = channels_of(&op->x);
    const int64_t shape[] = {(int64_t)ssq_comm_size(call->comm), 2 * c + 1};
    struct view own = {.buffer = NULL}, all = {.buffer = NULL};
    if (c == 0)
        return SSQ_OK;
    ssq_status st = scratch_get(queue, SSQ_F32, 1, shape + 1, &own);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, shape, &all);
    if (st == SSQ_OK)
        st = find_own(queue, op, &own);
    if (st == SSQ_OK)
        st = gather(queue, call->comm, &own, &all);
    if (st == SSQ_OK)
        st = merge(queue, op, &all);
    scratch_put(&own);
    scratch_put(&all);
    return st;
}

/* ---- backward ---- */

/* This rank's sums of dy, of dy z, and its number of elements, one behind the
 * other; the sums are dbeta and dgamma, too. */
static ssq_status sum_own(ssq_queue *queue,
                          const struct channel_norm_backward_op *op,
                          const struct view *sums)
{
    const int64_t n = count_of(&op->x), c = channels_of(&op->x);
    const struct view dy = part_of(sums, 0, c, ACCESS_READ);
    const struct view dy_z = part_of(sums, c, c, ACCESS_READ);
    struct channel_norm_backward_op own = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    own.dx.buffer = NULL;
    own.dbeta = part_of(sums, 0, c, ACCESS_WRITE);
    own.dgamma = part_of(sums, c, c, ACCESS_WRITE);
    st = enqueue_fill(queue, sums, (double)n);
    if (st == SSQ_OK && n > 0)
        st = queue_enqueue(queue, &own.op);
    if (st == SSQ_OK && op->dbeta.buffer != NULL)
        st = enqueue_copy(queue, &dy, &op->dbeta);
    if (st == SSQ_OK && op->dgamma.buffer != NULL)
        st = enqueue_copy(queue, &dy_z, &op->dgamma);
    return queue_bundle_end(queue, st);
}

/* Over ranks, in place. */
static ssq_status reduce(ssq_queue *queue, ssq_comm *comm,
                         const struct view *sums)
{
    const ssq_tensor x = tensor_of(sums);
    const ssq_tensor *const list[] = {&x};
    if (capture_dry(queue))
        return SSQ_OK;
    return ssq_comm_all_reduce(
        queue, comm,
        SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1,
                            .tag = "batch_norm_backward"));
}

/* The averages over all ranks, in place of the sums, and dx of them. */
static ssq_status differentiate(ssq_queue *queue,
                                const struct channel_norm_backward_op *op,
                                const struct view *sums)
{
    const int64_t c = channels_of(&op->x);
    struct view both = part_of(sums, 0, 2 * c, ACCESS_WRITE);
    struct view n = part_of(sums, 2 * c, 1, ACCESS_READ);
    const ssq_tensor a = tensor_of(&both), b = tensor_of(&n);
    struct channel_norm_backward_op rest = *op;
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    rest.dgamma.buffer = rest.dbeta.buffer = NULL;
    rest.average = part_of(sums, 0, 2 * c, ACCESS_READ);
    rest.average.rank = 2;
    rest.average.shape[0] = 2;
    rest.average.shape[1] = rest.average.stride[0] = c;
    rest.average.stride[1] = 1;
    st = ssq_div(queue, SSQ_DIV(.a = &a, .b = &b, .y = &a));
    if (st == SSQ_OK)
        st = queue_enqueue(queue, &rest.op);
    return queue_bundle_end(queue, st);
}

/* dgamma and dbeta are sums of this rank's elements, for which no other rank is
 * asked. */
static ssq_status backward_alone(ssq_queue *queue,
                                 const struct channel_norm_backward_op *op)
{
    struct channel_norm_backward_op own = *op;
    if (count_of(&op->x) > 0)
        return queue_enqueue(queue, &own.op);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (op->dgamma.buffer != NULL)
        st = enqueue_fill(queue, &op->dgamma, 0.0);
    if (st == SSQ_OK && op->dbeta.buffer != NULL)
        st = enqueue_fill(queue, &op->dbeta, 0.0);
    return queue_bundle_end(queue, st);
}

ssq_status ranks_backward(ssq_queue *queue,
                          const struct channel_norm_call *call,
                          const struct channel_norm_backward_op *op)
{
    const int64_t words = 2 * channels_of(&op->x) + 1;
    struct view sums;
    if (words == 1)
        return SSQ_OK;
    if (op->dx.buffer == NULL)
        return backward_alone(queue, op);
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &words, &sums);
    if (st != SSQ_OK)
        return st;
    st = sum_own(queue, op, &sums);
    if (st == SSQ_OK)
        st = reduce(queue, call->comm, &sums);
    if (st == SSQ_OK && count_of(&op->x) > 0)
        st = differentiate(queue, op, &sums);
    scratch_put(&sums);
    return st;
}
