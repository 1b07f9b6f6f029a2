/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - an optimizer of which each rank has a part: masters and moments of
 * some elements of some parameters.
 *
 * All parameters' chunks (kernels/reduce/norm.h), in the order of
 * ssq_optimizer_add, are divided into one contiguous range for each rank, of
 * about equal numbers of elements: a shard. So the partial sums of a norm are
 * the same as on one device, and the sums of all ranks are added in the
 * same order. Sums of gradients are complete on every rank until they are
 * reduced. Then they are valid only in the rank's shard, as parameters are
 * until they are gathered. */
#ifndef LIB_AMP_OPTIMIZER_SHARDS_H
#define LIB_AMP_OPTIMIZER_SHARDS_H

#include <sesqui/amp/optimizer.h>

#include "lib/core/core.h"

struct state;
struct check_op;

/** The part of a state that only an optimizer with ranks has. */
struct shards {
    ssq_comm *comm;
    size_t n;                /* parameters */
    int64_t *bounds;         /* as in lib/comm/parts.h; owned */
    uint32_t first, chunks;  /* first chunk of the shard; chunks of all ranks */
    int64_t own, all;        /* elements of the shard; of all ranks */
    struct view_list *sizes; /* the parameters, only for their sizes */
    const ssq_tensor **params; /* borrowed; the array is owned */
    /* partial sums of a check, and of LAMB's norms or NULL: a tensor for each
     * word, in one buffer */
    ssq_tensor *parts, *norms;
    ssq_tensor **part_rows, **norm_rows;
    int64_t *row_bounds; /* bounds for each of these tensors; owned */
};

/** Divide the parameters, at the first use. */
ssq_status shards_create(ssq_queue *queue, const ssq_optimizer *optimizer,
                         struct shards **shards);
void shards_free(struct shards *shards);

/** Return the first of this rank's elements of parameter i, and their number.
 * All elements without ranks. */
int64_t shard_from(const struct state *state, size_t i);
int64_t shard_count(const ssq_optimizer *optimizer, const struct state *state,
                    size_t i);
/** Return these elements of a contiguous view that has one element for each of
 * the parameter's, or two (a remainder). Rank 1, unless all elements are in it.
 */
struct view shard_view(const ssq_optimizer *optimizer,
                       const struct state *state, size_t i,
                       const struct view *v);

/** Sum the sums of gradients over ranks; each rank gets its shard. */
ssq_status shards_reduce(ssq_queue *queue, const ssq_optimizer *optimizer);
/** Check all ranks' gradients. op has a record, and its list is the shard. Two
 *  parts: the partial sums of all ranks, and the results from them. */
ssq_status shards_look(ssq_queue *queue, const ssq_optimizer *optimizer,
                       const struct check_op *op);
ssq_status shards_judge(ssq_queue *queue, const ssq_optimizer *optimizer,
                        const struct check_op *op);
/** Compute LAMB's step lengths in the same way. list is the step's. */
ssq_status shards_norm(ssq_queue *queue, const ssq_optimizer *optimizer,
                       struct view_list *list);
ssq_status shards_lengths(ssq_queue *queue, const ssq_optimizer *optimizer);
/** Return SSQ_OK if the optimizer has no ranks, or if they can exchange now.
 * For a call that changes something before it exchanges. */
ssq_status shards_ready(ssq_queue *queue, const ssq_optimizer *optimizer,
                        const char *what);
/** Send all parameters to all ranks. */
ssq_status shards_gather(ssq_queue *queue, const ssq_optimizer *optimizer);

/** Gather the whole slot of parameter i, on the root or on all ranks. `whole`
 * has its dtype and number of elements. All ranks must call this. */
ssq_status shards_whole(ssq_queue *queue, const ssq_optimizer *optimizer,
                        size_t i, int slot, uint32_t root,
                        const ssq_tensor *whole);
/** Create a tensor with the float32 values of parameter i, whose master is
 * float32 or split. All ranks must call this. */
ssq_status shards_exact(ssq_queue *queue, const ssq_optimizer *optimizer,
                        size_t i, ssq_tensor **made);
/** Write parameter i and this rank's part of its master from float32 values. */
ssq_status shards_write(ssq_queue *queue, const ssq_optimizer *optimizer,
                        const struct state *state, size_t i,
                        const ssq_tensor *from);

#endif
