/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_norm.c - batch norm with statistics over the elements of all ranks.
 *
 * Forward: each rank computes mean and variance of its elements. All ranks
 * gather these and the numbers of elements, and an op with `found` merges and
 * normalises. Backward: the ranks' sums of dy and of dy z are added, and an op
 * with `average` computes dx. Work before a collective writes only scratch,
 * dgamma and dbeta. The host reads no value of a device. */
#include "lib/comm/ranks_norm.h"

#include "lib/core/queue/queue.h"

#include <stdio.h>
#include <string.h>

static bool ranks_norm(const struct channel_norm_call *call)
{
    return call->comm != NULL && !call->given && ssq_comm_size(call->comm) > 1;
}

/* Return true if a collective can be captured. The collectives themselves
 * refuse a capture, but only after ops of this file, which would stay in the
 * graph. NCCL's can be captured. A dry capture only checks ops: it skips
 * collectives. */
static bool ranks_norm_captures(const ssq_queue *queue, const ssq_comm *comm)
{
    return capture_dry(queue) || strcmp(ssq_comm_transport(comm), "nccl") == 0;
}

static ssq_status ranks_check(const ssq_queue *queue,
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
                         "%s: mean and rstd are NULL: with comm they must be "
                         "those of the forward call",
                         call->name);
    if (ranks_norm(call) && queue_capturing(queue) &&
        !ranks_norm_captures(queue, call->comm))
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured: it cannot have a "
                         "collective of comm",
                         call->name);
    return ssq_comm_status(call->comm);
}

/* ---- forward ---- */

/* Gather the statistics of every rank, in rank order. The tag has the options,
 * because ranks compare tags. With different options the ranks' results and
 * running statistics would differ in silence. A tag has 31 bytes at most. */
static ssq_status ranks_norm_gather(ssq_queue *queue,
                                    const struct channel_norm_call *call,
                                    const struct view *own,
                                    const struct view *all)
{
    const ssq_tensor x = {.view = *own}, y = {.view = *all}; /* borrowed */
    char tag[64];
    if (capture_dry(queue))
        return SSQ_OK;
    int n = snprintf(tag, sizeof(tag), "batch_norm eps %.6g mom %.6g",
                     call->eps, call->momentum);
    if (n > 31)
        (void)snprintf(tag, sizeof(tag), "norm %.6g %.6g", call->eps,
                       call->momentum);
    return ssq_comm_all_gather(
        queue, call->comm, SSQ_COMM_ALL_GATHER(.x = &x, .y = &y, .tag = tag));
}

static ssq_status ranks_forward(ssq_queue *queue,
                                const struct channel_norm_call *call,
                                const struct channel_norm_op *op)
{
    const int64_t c = op->x.shape[1];
    const int64_t shape[] = {(int64_t)ssq_comm_size(call->comm), 3 * c + 1};
    struct view own = {.buffer = NULL}, all = {.buffer = NULL};
    if (c == 0)
        return SSQ_OK;
    ssq_status st = scratch_get(queue, SSQ_F32, 1, shape + 1, &own);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, shape, &all);
    if (st == SSQ_OK)
        st = part_find(queue, op, &own, pieces_norm);
    if (st == SSQ_OK)
        st = ranks_norm_gather(queue, call, &own, &all);
    if (st == SSQ_OK)
        st = parts_merge(queue, op, &all, pieces_norm);
    scratch_put(&own);
    scratch_put(&all);
    return st;
}

/* ---- backward ---- */

/* Add the sums over ranks, in place. */
static ssq_status ranks_norm_reduce(ssq_queue *queue, ssq_comm *comm,
                                    const struct view *sums)
{
    const ssq_tensor x = {.view = *sums}; /* borrowed */
    const ssq_tensor *const list[] = {&x};
    if (capture_dry(queue))
        return SSQ_OK;
    return ssq_comm_all_reduce(
        queue, comm,
        SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1,
                            .tag = "batch_norm_backward"));
}

/* Enqueue dgamma and dbeta without dx. They are sums of this rank's elements,
 * so no other rank is needed. */
static ssq_status backward_alone(ssq_queue *queue,
                                 const struct channel_norm_backward_op *op)
{
    struct channel_norm_backward_op own = *op;
    if (channel_elements(&op->x) > 0)
        return pieces_gradient(queue, &own);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (op->dgamma.buffer != NULL)
        st = enqueue_fill(queue, &op->dgamma, 0.0);
    if (st == SSQ_OK && op->dbeta.buffer != NULL)
        st = enqueue_fill(queue, &op->dbeta, 0.0);
    return queue_bundle_end(queue, st);
}

static ssq_status ranks_backward(ssq_queue *queue,
                                 const struct channel_norm_call *call,
                                 const struct channel_norm_backward_op *op)
{
    const int64_t words = 2 * op->x.shape[1] + 1;
    struct view sums;
    if (words == 1)
        return SSQ_OK;
    if (op->dx.buffer == NULL)
        return backward_alone(queue, op);
    ssq_status st = scratch_get(queue, SSQ_F32, 1, &words, &sums);
    if (st != SSQ_OK)
        return st;
    st = part_sums(queue, op, &sums, pieces_gradient);
    if (st == SSQ_OK)
        st = ranks_norm_reduce(queue, call->comm, &sums);
    if (st == SSQ_OK && channel_elements(&op->x) > 0)
        st = parts_gradient(queue, op, &sums, pieces_gradient);
    scratch_put(&sums);
    return st;
}

const struct ranks_norm norm_over_ranks = {ranks_norm, ranks_check,
                                           ranks_forward, ranks_backward};
